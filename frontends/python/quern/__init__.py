# SPDX-License-Identifier: Apache-2.0
"""quern: ONNX models by kernels alone, and the planner of its memory.

    import numpy as np
    import quern

    model = quern.load("model.onnx")
    result = model.run({"input": np.zeros((1, 3, 224, 224), np.float32)})

    problem = quern.plan.Problem(sizes=[8, 8], first=[0, 1], end=[2, 3])
    problem.plan().offsets

Models need libquern.so, the planner libquern_plan.so alone; each is opened when it is first used. They lie in the
package, or where QUERN_LIBRARY and QUERN_PLAN_LIBRARY say, or where the system finds them.
"""
from quern import plan
from quern._engine import Device, Metadata, Model, PlanInfo, Value, devices, load, version
from quern._errors import (Busy, DeviceLost, Error, InternalError, InvalidArgument, InvalidModel, NotFound,
                           OutOfMemory, TimedOut, Unsupported)

__all__ = ["Busy", "Device", "DeviceLost", "Error", "InternalError", "InvalidArgument", "InvalidModel", "Metadata",
           "Model", "NotFound", "OutOfMemory", "PlanInfo", "TimedOut", "Unsupported", "Value", "devices", "load",
           "plan", "version"]
