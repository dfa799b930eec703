# SPDX-License-Identifier: Apache-2.0
"""What training does to clean digits (f32 [N,1,28,28], white on black, 0..1), so that the network
also reads digits that were drawn with a thick pen, photographed, off-centre, or dark on white."""
import math

import torch
import torch.nn.functional as F


def uniform(count, low, high):
    return torch.rand(count, 1, 1, 1) * (high - low) + low


def chance(count, probability):
    return torch.rand(count, 1, 1, 1) < probability


def move(x):
    """Turns by up to 15 degrees, slants, scales by 0.6 to 1.25, and shifts as far as fits."""
    n = len(x)
    angle = uniform(n, -1, 1).flatten() * math.radians(15)
    slant = uniform(n, -0.2, 0.2).flatten()
    size = uniform(n, 0.6, 1.25).flatten()
    stretch = uniform(n, 0.85, 1.15).flatten()
    cos, sin = torch.cos(angle), torch.sin(angle)
    theta = torch.zeros(n, 2, 3)  # from places in the result to places in x, both -1..1
    theta[:, 0, 0] = cos / (size * stretch)
    theta[:, 0, 1] = (slant - sin) / size
    theta[:, 1, 0] = sin / (size * stretch)
    theta[:, 1, 1] = cos / size
    room = ((1 - 0.72 * size).clamp(min=0.05) / size).unsqueeze(1)  # a digit fills 20 of 28 pixels
    theta[:, :, 2] = (torch.rand(n, 2) * 2 - 1) * room
    return F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False),
                         align_corners=False)


def thicken(x):
    """Makes some strokes wider, some blurred."""
    n = len(x)
    wide = F.max_pool2d(x, 3, stride=1, padding=1)
    x = torch.where(chance(n, 0.25), torch.lerp(x, wide, uniform(n, 0.3, 1)), x)
    blurred = F.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)
    return torch.where(chance(n, 0.25), blurred, x)


def photograph(x):
    """Grey paper, weak ink, uneven light, noise."""
    n = len(x)
    ramp = torch.linspace(-1, 1, 28)
    light = uniform(n, -0.2, 0.2) * ramp.view(1, 1, 28, 1) + uniform(n, -0.2, 0.2) * ramp
    low = uniform(n, 0, 0.35)
    ink = uniform(n, 0.4, 1)
    x = low + x * (1 - low) * ink + light
    return x + torch.randn_like(x) * uniform(n, 0, 0.1)


def augment(x):
    """Half of the digits are moved only; the other half goes through everything."""
    n = len(x)
    x = move(x)
    x = torch.where(chance(n, 0.5), photograph(thicken(x)), x).clamp(0, 1)
    return torch.where(chance(n, 0.4), 1 - x, x)
