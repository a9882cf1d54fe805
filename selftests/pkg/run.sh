#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The pkg suite, what is installed and shipped, or those of its scripts that are named.
export LC_ALL=C.UTF-8
exec bash "$(dirname "$0")/../scripts.sh" pkg 0 "$@"
