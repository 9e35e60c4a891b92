#!/usr/bin/env bash
# Makes or removes a SoftRoCE device (RDMA over Ethernet in software, module rdma_rxe). As root; a second call changes
# nothing.
#   scripts/setup_rxe.sh up [--device rxe0] [--netdev NAME] [--address 10.77.0.1/24] [--mtu 4200]
#   scripts/setup_rxe.sh down [--device rxe0]
#   scripts/setup_rxe.sh status [--device rxe0]
# Without --netdev it makes a dummy interface for it (one machine only); with it, that interface is used, and its
# address and MTU are changed only where --address or --mtu asks for it.
set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

fail() {
    echo "setup_rxe.sh: $*" >&2
    exit 1
}
usage() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
    exit "$1"
}

device=rxe0 netdev='' address='' mtu=''
case ${1-} in
    up | down | status) action=$1 ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
esac
shift
while [[ $# -gt 0 ]]; do
    [[ $# -ge 2 ]] || usage 2 >&2
    case $1 in
        --device) device=$2 ;;
        --netdev) netdev=$2 ;;
        --address) address=$2 ;;
        --mtu) mtu=$2 ;;
        *) usage 2 >&2 ;;
    esac
    shift 2
done
dummy=${device}-net # the interface that this script makes, and that it therefore removes

netdev_of_device() { # nothing where there is no such device
    local path=/sys/class/infiniband/$device/ports/1/gid_attrs/ndevs/0
    if [[ -r $path ]]; then cat "$path"; fi
}

show() { # built-in commands only: the table has a thousand entries, and unused ones refuse to be read
    local port=/sys/class/infiniband/$device/ports/1 path type gid
    echo "$device on $(netdev_of_device): $(cut -d' ' -f2 "$port/state")"
    for path in "$port"/gid_attrs/types/*; do
        if { read -r type <"$path" && read -r gid <"$port/gids/${path##*/}"; } 2>/dev/null; then
            [[ $gid != 0000:0000:0000:0000:0000:ffff:* ]] || echo "GID index ${path##*/}: $type, IPv4"
        fi
    done
}

for tool in ip rdma; do
    command -v $tool >/dev/null || fail "there is no command $tool (Debian/Ubuntu: apt-get install iproute2)"
done

present=$([[ -e /sys/class/infiniband/$device ]] && echo yes || echo no)
case $action in
    status)
        [[ $present == yes ]] || fail "there is no RDMA device $device"
        show
        exit
        ;;
    down)
        [[ $EUID == 0 ]] || fail "found user $EUID, expected root"
        if [[ $present == yes ]]; then rdma link delete "$device"; fi
        if [[ -e /sys/class/net/$dummy ]]; then ip link delete "$dummy"; fi
        exit
        ;;
esac

[[ $EUID == 0 ]] || fail "found user $EUID, expected root"
if [[ $present == yes ]]; then
    found=$(netdev_of_device)
    [[ $found == "${netdev:-$dummy}" ]] || fail "$device: found on $found, expected on ${netdev:-$dummy}; remove it first (down)"
    show
    exit
fi
if [[ ! -e /sys/module/rdma_rxe ]]; then
    why=$(modprobe rdma_rxe 2>&1) || fail "the kernel $(uname -r) cannot load rdma_rxe (${why:-modprobe is not there});" \
        "it needs CONFIG_RDMA_RXE and the module's file in /lib/modules. scripts/rdma_vm.sh runs a command in a virtual" \
        "machine whose kernel has it"
fi

made=''
undo() { # a call that fails leaves no half of it
    [[ -z $made ]] || ip link delete "$made" 2>/dev/null || true
}
trap undo EXIT
if [[ -z $netdev ]]; then
    netdev=$dummy address=${address:-10.77.0.1/24} mtu=${mtu:-4200}
    if [[ ! -e /sys/class/net/$dummy ]]; then
        ip link add "$dummy" type dummy || fail "the kernel $(uname -r) makes no dummy interface (module dummy); name one that exists: --netdev"
        made=$dummy
    fi
elif [[ ! -e /sys/class/net/$netdev ]]; then
    fail "there is no network interface $netdev; found: $(find /sys/class/net -mindepth 1 -printf '%f ')"
fi
# A packet of 4096 bytes with its headers needs an MTU of 4200; at 1500, RDMA packets carry 1024.
[[ -z $mtu ]] || ip link set "$netdev" mtu "$mtu"
[[ -z $address ]] || ip address replace "$address" dev "$netdev"
ip link set "$netdev" up
rdma link add "$device" type rxe netdev "$netdev" || fail "no SoftRoCE device could be added to $netdev"
made=''

for _ in $(seq 100); do
    [[ $(cut -d' ' -f2 "/sys/class/infiniband/$device/ports/1/state") == ACTIVE ]] && break
    sleep 0.05
done
show
