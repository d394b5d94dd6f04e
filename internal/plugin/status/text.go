package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// Text draws the tree. Unless all is set, it only counts the pods that run.
func Text(s Status, all bool) string {
	var b strings.Builder
	switch {
	case s.Manager == nil:
	case s.Manager.Outside != "":
		fmt.Fprintln(&b, "manager: available, outside of this cluster, as "+s.Manager.Outside)
	case s.Manager.Available:
		fmt.Fprintln(&b, "manager: available")
	default:
		fmt.Fprintln(&b, "manager: not available: "+s.Manager.Message)
	}
	if len(s.Bindings) == 0 && !slices.Contains(s.Hidden, Bindings) {
		fmt.Fprintln(&b, "no provider is bound: kubectl spillway bind NAME --provider-context CONTEXT")
	}
	for _, binding := range s.Bindings {
		binding.draw(&b, all)
	}
	if len(s.Local) > 0 {
		branch := line(&b, "on this cluster's own nodes:")
		for _, namespace := range s.Local {
			namespace.draw(branch, all)
		}
		branch.end()
	}
	if len(s.Unplaced) > 0 {
		branch := line(&b, "waiting in this cluster:")
		for _, namespace := range s.Unplaced {
			namespace.draw(branch, all, "which is not offloaded", "")
		}
		branch.end()
	}
	drawObjects(&b, s.Objects)
	fmt.Fprint(&b, s.left())
	return b.String()
}

// left says what is not shown, and why.
func (s Status) left() string {
	if len(s.Hidden) == 0 {
		return ""
	}
	named := strings.Join(s.Hidden, ", ")
	if s.Namespace == "" && (slices.Contains(s.Hidden, Pods) || slices.Contains(s.Hidden, Offloadings)) {
		named += "; -n NAMESPACE shows what you may read of one namespace"
	}
	return "not shown, because you may not read it: " + named + "\n"
}

func (b Binding) draw(to *strings.Builder, all bool) {
	title := "provider " + b.ClusterID
	if b.Name != "" {
		title = fmt.Sprintf("%s: %s", b.Name, strings.Join(nonEmpty(state(b.Ready, b.Reason), b.Version), ", "))
	}
	branch := line(to, title)
	for _, wait := range b.Waits {
		branch.add(wait.String())
	}
	known := ""
	if b.LastKnown != "" {
		known = "as last known at " + b.LastKnown
	}
	if b.Node != nil {
		branch.add(b.Node.text(known))
	}
	for i := range b.Groups {
		branch.add(b.Groups[i].text(known))
	}
	for _, used := range b.Quota {
		branch.add("quota " + used)
	}
	for _, namespace := range b.Namespaces {
		namespace.draw(branch, all, "which is not offloaded there", known)
	}
	branch.end()
}

func state(ready bool, reason string) string {
	if ready {
		return "Ready"
	}
	return cmp.Or(reason, "not Ready")
}

func (n *Node) text(known string) string {
	return "node " + n.Name + ": " + strings.Join(nonEmpty(state(n.Ready, "NotReady"), cordoned(n), offers(n), known), ", ")
}

func cordoned(n *Node) string {
	if n.Unschedulable {
		return "cordoned"
	}
	return ""
}

func offers(n *Node) string {
	var parts []string
	for _, name := range []string{"cpu", "memory", "pods"} {
		if quantity := n.Offers[name]; quantity != "" {
			parts = append(parts, quantity+" "+name)
		}
	}
	return strings.Join(parts, ", ")
}

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return one == "" })
}

// draw adds a namespace. notOffloaded is the text for a namespace that is not offloaded. known says how old the state of
// its pods is; empty if that is current.
func (n Namespace) draw(in *branch, all bool, notOffloaded, known string) {
	title, running, without := "namespace "+n.Name, 0, 0
	if n.Remote != "" {
		title += ", remote " + n.Remote
	}
	if n.Tier != nil {
		title += fmt.Sprintf(", tier %d", *n.Tier)
	}
	if n.NotOffloaded {
		title += ", " + notOffloaded
	}
	for _, pod := range n.Pods {
		if pod.Runs {
			running++
		}
		if pod.WithoutToken {
			without++
		}
	}
	if len(n.Pods) > 0 {
		title += strings.TrimSuffix(fmt.Sprintf(": %d of %d pods run, or have succeeded, %s", running, len(n.Pods), known), ", ")
	}
	sub := in.add(title)
	for _, wait := range n.Waits {
		sub.add(wait.String())
	}
	if without > 0 {
		sub.add(fmt.Sprintf("%d of them without their token, which is not sent: see kubectl spillway explain POD", without))
	}
	for _, pod := range n.Pods {
		if pod.Runs && !all {
			continue
		}
		sub.add(pod.text())
	}
}

func (p Pod) text() string {
	said := ""
	phase := p.Phase
	for _, wait := range p.Waits {
		if wait == leaves {
			phase = "Terminating" // As kubectl says it.
			continue
		}
		said += "; " + wait.String()
	}
	text := "pod " + p.Name + ": " + phase + said
	if tried := tiers.Short(p.Tiers); tried != "" {
		text += "; " + tried
	}
	return text
}
