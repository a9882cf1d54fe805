for i in 1 2 3 4 5 6; do t=$(date +%s%N); o=$(.output/bigtcp probe -j); echo "# $? $((($(date +%s%N)-t)/1000000)) ms $(echo "$o" | jq -c '[.error,.big_tcp[]?.form,.big_tcp[]?.why]')"; done
echo "ok 1 - x"
