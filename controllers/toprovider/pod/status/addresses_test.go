package status

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// routed shows every possible pod address.
var (
	routed = network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	narrow = network.Reach{Ranges: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/14"), netip.MustParsePrefix("fd00:8::/48")}}
)

// hostile are addresses that no pod has. A client that sends to them would reach something else: its
// own node, the cloud's metadata service, many hosts at once, or whatever its parser reads.
var hostile = []string{"127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "ff02::1", "::ffff:10.8.0.1",
	"::ffff:127.0.0.1", "010.8.0.1", "10.8.1", "0x0a080001", "localhost", "", "10.8.0.1\n10.9.0.1"}

func TestHostileAddresses(t *testing.T) {
	for name, reach := range map[string]network.Reach{"isolated": {}, "routed": narrow, "everything is routed": routed} {
		for _, ip := range hostile {
			t.Run(name+" "+ip, func(t *testing.T) {
				remote := &corev1.Pod{Status: corev1.PodStatus{PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIP: ip, HostIPs: []corev1.HostIP{{IP: ip}}}}
				if got := shown(Of(fieldtest.PodOf(t, `{}`), remote, reach, fieldtest.Present, 0)); len(got) > 0 {
					t.Errorf("shown: %q", got)
				}
				if got := RemoteIP(remote); got != "" {
					t.Errorf("people are told %q", got)
				}
			})
		}
	}
}

func shown(s corev1.PodStatus) []string {
	var all []string
	for _, ip := range s.PodIPs {
		all = append(all, ip.IP)
	}
	for _, ip := range s.HostIPs {
		all = append(all, "host "+ip.IP)
	}
	if s.HostIP != "" || len(all) == 0 && s.PodIP != "" || len(all) > 0 && s.PodIP != all[0] {
		all = append(all, "first "+s.PodIP, "host "+s.HostIP)
	}
	return all
}

func TestReach(t *testing.T) {
	pending := narrow
	pending.Pending = true
	tests := map[string]struct {
		reach         network.Reach
		local, remote string
		want          []string
		told          string
	}{
		"isolated":                        {network.Reach{}, `{}`, `{podIP: 10.8.0.1}`, nil, "10.8.0.1"},
		"isolated now":                    {network.Reach{}, `{podIP: 10.8.0.1, podIPs: [{ip: 10.8.0.1}], hostIP: 10.8.0.9, hostIPs: [{ip: 10.8.0.9}]}`, `{podIP: 10.8.0.1}`, nil, "10.8.0.1"},
		"routed":                          {narrow, `{}`, `{podIP: 10.8.0.1}`, []string{"10.8.0.1"}, "10.8.0.1"},
		"both families":                   {narrow, `{}`, `{podIP: 10.8.0.1, podIPs: [{ip: 10.8.0.1}, {ip: "fd00:8::1"}]}`, []string{"10.8.0.1", "fd00:8::1"}, "10.8.0.1,fd00:8::1"},
		"one of the families":             {narrow, `{}`, `{podIP: 10.8.0.1, podIPs: [{ip: 10.8.0.1}, {ip: "fd00:9::1"}]}`, []string{"10.8.0.1"}, "10.8.0.1,fd00:9::1"},
		"only the other one":              {narrow, `{}`, `{podIP: 10.4.0.1, podIPs: [{ip: 10.4.0.1}, {ip: "fd00:8::1"}]}`, []string{"fd00:8::1"}, "10.4.0.1,fd00:8::1"},
		"somebody else's":                 {narrow, `{}`, `{podIP: 10.4.0.1}`, nil, "10.4.0.1"},
		"the ranges have changed":         {narrow, `{podIP: 10.4.0.1, podIPs: [{ip: 10.4.0.1}]}`, `{podIP: 10.4.0.1}`, nil, "10.4.0.1"},
		"it has another one":              {narrow, `{podIP: 10.8.0.1, podIPs: [{ip: 10.8.0.1}]}`, `{podIP: 10.8.0.2}`, []string{"10.8.0.2"}, "10.8.0.2"},
		"not known: nothing comes":        {pending, `{}`, `{podIP: 10.8.0.1}`, nil, "10.8.0.1"},
		"not known: what is shown stays":  {pending, `{podIP: 10.8.0.1, podIPs: [{ip: 10.8.0.1}]}`, `{podIP: 10.8.0.2}`, []string{"10.8.0.1"}, "10.8.0.2"},
		"not known: but what is not ours": {pending, `{podIP: 10.4.0.1, podIPs: [{ip: 10.4.0.1}]}`, `{podIP: 10.4.0.1}`, nil, "10.4.0.1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{}`)
			local.Status = *fieldtest.Parse[corev1.PodStatus](t, test.local)
			remote := &corev1.Pod{Status: *fieldtest.Parse[corev1.PodStatus](t, test.remote)}
			if diff := cmp.Diff(test.want, shown(Of(local, remote, test.reach, fieldtest.Present, 0))); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.told, RemoteIP(remote)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}
