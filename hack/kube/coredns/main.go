// Command coredns is CoreDNS with the plugins that it needs to answer for the Services of a cluster. It is
// not in the same file as Kubernetes' programs, because it adds its own flags to every program in a file, and
// kube-proxy would get them.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
