#!/bin/sh
# Run in a network and mount namespace of its own: gives the machine the addresses of COUNT instances in FOLDER's names,
# a default route that leads nowhere, and no name server; then runs the rest of the command line. Nothing of it is left when
# that ends, and nothing of the machine's own network is touched.
#   network.sh FOLDER COUNT COMMAND…
set -eu
folder=$1 count=$2
shift 2
ip link set lo up
ip link add node0 type veth peer name node1
ip link set node0 up
ip link set node1 up
# What a kubelet finds that is told --node-ip=0.0.0.0 or :: and whose name nobody knows: no instance's address.
ip addr add 10.78.0.1/24 dev node0
ip -6 addr add fd78::1/64 dev node0 nodad
ip route add default via 10.78.0.2 dev node0
ip -6 route add default via fd78::2 dev node0
echo "127.0.0.1 localhost" > "$folder/hosts"
for n in $(seq 1 "$count"); do
  ip addr add "10.77.0.$n/32" dev lo
  ip -6 addr add "fd77::$n/128" dev lo nodad
  # Every other instance's name is known, as in a network with DNS.
  if [ $((n % 2)) -eq 0 ]; then
    echo "10.77.0.$n ip-10-77-0-$n.eu-central-1.compute.internal" >> "$folder/hosts"
  fi
done
# Refused at once, where a name server that is not there would be waited for.
echo "nameserver 127.0.0.1" > "$folder/resolv.conf"
mount --bind "$folder/hosts" /etc/hosts
mount --bind "$folder/resolv.conf" /etc/resolv.conf
exec "$@"
