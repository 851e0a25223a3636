# What the stock is worth.
function round(x) { return int(x + 0.5) }
NR > 1 && NF >= 4 { total += round($3) * $2 }
END { printf "%.2f\n", total }
