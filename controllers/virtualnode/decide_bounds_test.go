package virtualnode

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestCapacityIsBounded(t *testing.T) {
	node := builder.Node("n").Obj()
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourcePods: resource.MustParse("110"),
		"example.com/debt":                   resource.MustParse("-1"),
		"no name":                            resource.MustParse("1"),
		"a/" + corev1.ResourceName(longer()): resource.MustParse("1"),
	}
	if got := total(Offer{Nodes: []corev1.Node{*node}}); len(got) != 2 {
		t.Errorf("of a node with two resources that can be told there are %v", got)
	}
	for i := range maxResources + 1 {
		node.Status.Allocatable[corev1.ResourceName(fmt.Sprintf("a.example.com/%04d", i))] = resource.MustParse("1")
		got := total(Offer{Nodes: []corev1.Node{*node}})
		_, ok := got["a.example.com/0061"] // The last that fits.
		if len(got) != min(i+3, maxResources) || got.Cpu().String() != "8" || got.Pods().String() != "110" || ok != (i >= 61) {
			t.Fatalf("of %d resources %d are told, CPU %s, pods %s, the last: %v", i+3, len(got), got.Cpu(), got.Pods(), ok)
		}
	}
}

func longer() string { return strings.Repeat("a", 64) }
