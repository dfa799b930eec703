# SPDX-License-Identifier: Apache-2.0
"""The network: 28 x 28 grey picture in, ten probabilities out, about 32,000 parameters.

It is built from the blocks that larger networks are built from, so that running it exercises an
engine: convolution with batch normalisation, a residual block, max pooling, depthwise-separable
convolutions, global average pooling, a fully connected layer and a softmax.
"""
from torch import nn


class Conv(nn.Module):
    """Convolution and batch normalisation; the bias is the normalisation's."""

    def __init__(self, channels_in, channels_out, kernel, **options):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, padding=kernel // 2, bias=False,
                              **options)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, x):
        return self.norm(self.conv(x))


class Plain(nn.Module):
    """Two 3 x 3 convolutions."""

    def __init__(self, channels):
        super().__init__()
        self.first = Conv(channels, channels, 3)
        self.second = Conv(channels, channels, 3)

    def forward(self, x):
        return self.second(self.first(x).relu())


class Separable(nn.Module):
    """A 3 x 3 filter for each channel, then a mix of the channels."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.depthwise = Conv(channels_in, channels_in, 3, groups=channels_in)
        self.pointwise = Conv(channels_in, channels_out, 1)

    def forward(self, x):
        return self.pointwise(self.depthwise(x).relu())


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Conv(1, 16, 3)
        self.down = Conv(16, 32, 3, stride=2)  # 14 x 14
        self.plain = Plain(32)
        self.pool = nn.MaxPool2d(2)            # 7 x 7
        self.widen = Separable(32, 64)
        self.separable = Separable(64, 64)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.drop = nn.Dropout(0.1)
        self.classify = nn.Linear(64, 10)

    def logits(self, x):
        """What training wants, since the loss has the softmax inside."""
        x = self.stem(x).relu()
        x = self.down(x).relu()
        x = (x + self.plain(x)).relu()
        x = self.widen(self.pool(x)).relu()
        x = (x + self.separable(x)).relu()
        return self.classify(self.drop(self.mean(x).flatten(1)))

    def forward(self, x):
        return self.logits(x).softmax(1)
