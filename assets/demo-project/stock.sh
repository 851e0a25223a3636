#!/bin/sh
# Reports about a stock list: see README.md.
here=$(dirname "$0")
if [ $# -ne 2 ] || [ ! -f "$here/lib/$1.awk" ]; then
    echo "usage: stock.sh total|low FILE" >&2
    exit 2
fi
awk -F, -f "$here/lib/$1.awk" "$2"
