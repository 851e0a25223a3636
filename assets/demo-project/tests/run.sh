#!/bin/sh
# Runs everything; says what is wrong and ends with 1 if anything is.
cd "$(dirname "$0")/.." || exit 1
failed=0
check() { # what, wanted, got
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: wanted '$2', got '$3'"
        failed=1
    fi
}
check "cents count in the total" "8.90" "$(sh stock.sh total tests/three.csv)"
check "below the minimum is low" "nut" "$(sh stock.sh low tests/three.csv)"
check "an unknown report is refused" "2" "$(sh stock.sh nothing tests/three.csv 2>/dev/null; echo $?)"
for more in tests/more-*.sh; do
    if [ -f "$more" ]; then
        . "./$more"
    fi
done
exit $failed
