#!/usr/bin/env bash
# Gradescope runs this as root when it builds the image. What goes outside /root a submission's user can read.
set -euo pipefail
cd "$(dirname "$0")"

apt-get update -qq
apt-get install -y -qq python3-venv

# The image's own Python may be older than 3.11: uv brings another one then.
python3 -m venv /opt/uv
/opt/uv/bin/pip install --quiet 'uv>=0.8,<1'
export UV_PYTHON_INSTALL_DIR=/opt/python UV_TORCH_BACKEND="${UV_TORCH_BACKEND:-cpu}" UV_LINK_MODE=copy
/opt/uv/bin/uv venv --clear --python '>=3.11,<3.15' /opt/attention
/opt/uv/bin/uv pip install --python /opt/attention/bin/python -r requirements.txt
