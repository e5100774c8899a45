#!/bin/sh
# Copyright 2026 The Ropewalk Authors
# SPDX-License-Identifier: Apache-2.0

# Fetches the manifest of the agent from the parent of this cluster, and applies it.
#
# It is run after kubeadm on every machine of the control plane, also on one that replaces
# another when the parent is gone for good. So it does nothing once the agent has a
# certificate, it ends within ROPEWALK_TIMEOUT seconds, and it always exits with 0.
#
# The token stays in files that only root can read: it is never in an argument, in the
# environment or in the output. No brace stands beside another one, a percent or a number sign:
# cloud-init would take that for a template.

dir=${ROPEWALK_DIR:-/etc/ropewalk}
kubectl=${KUBECTL:-kubectl}
curl=${CURL:-curl}
limit=${ROPEWALK_TIMEOUT:-600}
pause=${ROPEWALK_PAUSE:-10}
export KUBECONFIG="${KUBECONFIG:-/etc/kubernetes/admin.conf}"
export PATH="$PATH:/usr/local/bin:/opt/bin"
umask 077

log() { echo "ropewalk: $*"; }

# uptime prints seconds of a clock that does not jump when the time of the machine is set.
uptime() {
	read -r seconds _ </proc/uptime
	echo "${seconds%.*}"
}

# left prints the seconds until the deadline.
left() { echo $((deadline - $(uptime))); }

# bounded runs a command until the deadline, and for a minute at most.
bounded() {
	most=$(left)
	[ "$most" -gt 0 ] || return 124
	[ "$most" -lt 60 ] || most=60
	timeout -k 5 "$most" "$@"
}

# attempt returns 0 when there is no reason for another one.
attempt() {
	if ! certificate=$(bounded "$kubectl" get secret ropewalk-agent --namespace ropewalk-system \
		--ignore-not-found --output 'jsonpath={.data.tls\.crt}'); then
		log "the API server of this cluster does not answer ($KUBECONFIG)"
		return 1
	fi
	if [ -n "$certificate" ]; then
		log "the agent has a certificate: nothing to do"
		return 0
	fi
	# --capath: some builds of curl trust the authorities of the system beside those of --cacert.
	status=$(bounded "$curl" -q --silent --show-error --proto =https --tlsv1.3 --connect-timeout 10 \
		--cacert "$dir/ca.crt" --capath "$work" --header "@$work/header" \
		--output "$work/manifest" --write-out 'HTTP %{http_code}' "$endpoint/v1/manifest") ||
		status="curl exits with $?"
	case $status in
	"HTTP 200") ;;
	"HTTP 40"[0134])
		log "$endpoint refuses the manifest of the agent ($status): the token is expired, or of another parent"
		return 0
		;;
	*)
		log "$endpoint does not answer with the manifest of the agent ($status)"
		return 1
		;;
	esac
	# Server-side: the manifest has the token, and must not become an annotation.
	if ! bounded "$kubectl" apply --server-side --force-conflicts --field-manager ropewalk-enrol \
		--filename - <"$work/manifest"; then
		log "the manifest of the agent cannot be applied"
		return 1
	fi
	log "the agent is applied"
}

if [ -e "$dir/endpoint" ] && [ ! -s "$dir/endpoint" ]; then
	log "this cluster has no parent: nothing to do"
	exit 0
fi
if ! work=$(mktemp -d); then
	log "no temporary folder can be made: the agent is not applied"
	exit 0
fi
trap 'rm -rf "$work"' EXIT
trap 'exit 0' HUP INT TERM

endpoint=$(cat "$dir/endpoint")
{
	printf 'Authorization: Bearer '
	tr -d '\r\n' <"$dir/token"
	echo
} >"$work/header"

deadline=$(($(uptime) + limit))
until attempt; do
	if [ "$(left)" -le "$pause" ]; then
		log "the agent is not applied within $limit seconds: run $0 again when the parent is there"
		break
	fi
	sleep "$pause"
done
exit 0
