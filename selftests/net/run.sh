#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The net suite, or those of its scripts that are named.
export LC_ALL=C
exec bash "$(dirname "$0")/../scripts.sh" net 600 "$@"
