# What must be ordered again.
NR > 1 && NF >= 4 && $2 < $4 { print $1 }
