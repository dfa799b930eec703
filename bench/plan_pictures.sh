#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws docs/pictures again: plan_pictures.sh QUERN K.1048576.csv RESNET50.onnx [FOLDER]
# Time limits end in plans that are proven, so the same comes out every time.
set -e
quern=$1 k=$2 resnet50=$3 folder=${4:-$(dirname "$0")/../docs/pictures}
"$quern" plan "$k" --capacity 1048576 --strategy greedy-by-size,auto --time-limit 60 \
  --svg "$folder/plan-k.svg" --html "$folder/plan-k.html" || [ $? = 1 ]
"$quern" plan "$resnet50" --strategy first-fit,auto \
  --svg "$folder/plan-resnet50.svg" --html "$folder/plan-resnet50.html"
