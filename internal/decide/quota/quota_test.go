package quota

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

func list(text string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		all[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	return all
}

// binding has quotas such as "all: cpu=10" and "a: team=a: pods=2".
func binding(quotas ...string) *v1alpha1.ClusterBinding {
	cb := &v1alpha1.ClusterBinding{}
	for _, text := range quotas {
		parts := strings.Split(text, ": ")
		q := v1alpha1.NamespaceQuota{Name: parts[0], Hard: list(parts[len(parts)-1])}
		if len(parts) == 3 {
			key, value, _ := strings.Cut(parts[1], "=")
			q.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}
		}
		cb.Spec.Quota = append(cb.Spec.Quota, q)
	}
	return cb
}

// teams has namespaces a1 and a2 of team a, and so on.
func teams(namespace string) (map[string]string, bool) {
	return map[string]string{"team": namespace[:1]}, true
}

// pod returns a pod such as "a1/x": its name is when it was created, too.
func pod(name, size string) Pod {
	namespace, name, _ := strings.Cut(name, "/")
	amounts := Amounts{corev1.ResourcePods: 1}
	for name, quantity := range list(size) {
		amounts.set(name, quantity, mostOfPod)
	}
	return Pod{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(namespace + name), Created: time.Unix(int64(name[0]), 0), Size: amounts}
}

func names(pods []types.NamespacedName) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestOf(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	of := Of(&corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: list("cpu=3")}},
			{RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: list("cpu=100m memory=1Mi")}},
		},
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu=1 nvidia.com/gpu=2"), Limits: list("cpu=2 nvidia.com/gpu=2 memory=1Gi")}}},
		Overhead:   list("cpu=50m"),
	}})
	want := Amounts{"pods": 1, "cpu": 3050, "memory": 1 << 20, "nvidia.com/gpu": 2, "limits.cpu": 2050, "limits.memory": 1 << 30}
	if diff := cmp.Diff(want, of); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for name, want := range map[corev1.ResourceName]string{"cpu": "3050m", "memory": "1Mi", "limits.memory": "1Gi", "nvidia.com/gpu": "2", "limits.cpu": "2050m"} {
		if got := of.Quantity(name); got.String() != want {
			t.Errorf("%s is %s, want %s", name, got.String(), want)
		}
	}
}

func TestAsk(t *testing.T) {
	const all, teamA = "all: cpu=10 limits.cpu=20", "team-a: team=a: cpu=4 pods=3"
	tests := map[string]struct {
		quotas []string
		// sent and unknown are the pods that the book begins with.
		sent, unknown []Pod
		// asked ask in this order. The last one's answer counts.
		asked []Pod
		want  string
	}{
		"no quota":                         {asked: []Pod{pod("a1/a", "cpu=100")}},
		"room":                             {quotas: []string{all, teamA}, sent: []Pod{pod("a1/a", "cpu=2")}, asked: []Pod{pod("a1/b", "cpu=2")}},
		"none":                             {quotas: []string{all, teamA}, sent: []Pod{pod("a1/a", "cpu=2500m")}, asked: []Pod{pod("a1/b", "cpu=2")}, want: "quota team-a of ClusterBinding eu: the pod requests 2 cpu, and 2500m of 4 are used"},
		"none, of another namespace":       {quotas: []string{all, teamA}, sent: []Pod{pod("a2/a", "cpu=4")}, asked: []Pod{pod("a1/b", "cpu=1m")}, want: "quota team-a of ClusterBinding eu: the pod requests 1m cpu, and 4 of 4 are used"},
		"another team":                     {quotas: []string{all, teamA}, sent: []Pod{pod("a2/a", "cpu=4")}, asked: []Pod{pod("b1/b", "cpu=6")}},
		"of all teams":                     {quotas: []string{all, teamA}, sent: []Pod{pod("a2/a", "cpu=4"), pod("b1/a", "cpu=4")}, asked: []Pod{pod("b1/b", "cpu=3")}, want: "quota all of ClusterBinding eu: the pod requests 3 cpu, and 8 of 10 are used"},
		"pods":                             {quotas: []string{teamA}, sent: []Pod{pod("a1/a", ""), pod("a1/b", ""), pod("a1/c", "")}, asked: []Pod{pod("a1/d", "")}, want: "quota team-a of ClusterBinding eu allows 3 pods, and 3 are used"},
		"limits":                           {quotas: []string{all}, asked: []Pod{pod("a1/a", "limits.cpu=21")}, want: "quota all of ClusterBinding eu: the pod requests 21 limits.cpu, and 0 of 20 are used"},
		"requests with a prefix":           {quotas: []string{"x: requests.nvidia.com/gpu=1 requests.cpu=3"}, asked: []Pod{pod("a1/a", "nvidia.com/gpu=2")}, want: "quota x of ClusterBinding eu: the pod requests 2 nvidia.com/gpu, and 0 of 1 are used"},
		"with and without a prefix":        {quotas: []string{"x: requests.cpu=3 cpu=2"}, asked: []Pod{pod("a1/a", "cpu=3")}, want: "quota x of ClusterBinding eu: the pod requests 3 cpu, and 0 of 2 are used"},
		"nothing is allowed":               {quotas: []string{"x: pods=0"}, asked: []Pod{pod("a1/a", "")}, want: "quota x of ClusterBinding eu allows 0 pods, and 0 are used"},
		"too much is used of something":    {quotas: []string{"x: cpu=1 memory=1Gi"}, sent: []Pod{pod("a1/a", "cpu=9")}, asked: []Pod{pod("a1/b", "memory=1Gi")}},
		"promised, not sent yet":           {quotas: []string{teamA}, asked: []Pod{pod("a1/a", "cpu=3"), pod("a1/b", "cpu=2")}, want: "quota team-a of ClusterBinding eu: the pod requests 2 cpu, and 3 of 4 are used"},
		"asks again":                       {quotas: []string{teamA}, asked: []Pod{pod("a1/a", "cpu=3"), pod("a1/a", "cpu=3")}},
		"a larger one holds up none":       {quotas: []string{teamA}, sent: []Pod{pod("a1/a", "cpu=2")}, asked: []Pod{pod("a1/b", "cpu=3"), pod("a1/c", "cpu=2")}},
		"older ones are not decided about": {quotas: []string{teamA}, unknown: []Pod{pod("a1/a", "cpu=3")}, asked: []Pod{pod("a1/b", "cpu=2")}, want: "quota team-a of ClusterBinding eu: the pod requests 2 cpu, and 0 of 4 are used; older pods wait for 3"},
		"younger ones are not":             {quotas: []string{teamA}, unknown: []Pod{pod("a1/z", "cpu=3")}, asked: []Pod{pod("a1/b", "cpu=2")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			book := &Book{Labels: teams}
			book.Set(Entries(binding(test.quotas...)), func() []Pod {
				for i := range test.sent {
					test.sent[i].Sent = true
				}
				return slices.Concat(test.sent, test.unknown)
			})
			got := ""
			for _, p := range test.asked {
				got = ""
				if short, _ := book.Ask(p); short != nil {
					got = short.Message("eu")
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestRoomGoesToTheOldest: what becomes free goes to the oldest pod that fits, whatever makes it free.
func TestRoomGoesToTheOldest(t *testing.T) {
	ended := func(p Pod) Pod { p.Ended = true; return p }
	small := func(p Pod) Pod { p.Size = Amounts{"cpu": 1000}; p.Sent = true; return p }
	first := pod("a1/a", "cpu=4")
	tests := map[string]struct {
		change func(*Book) []types.NamespacedName
		want   string
	}{
		"a pod ends":                    {func(b *Book) []types.NamespacedName { return b.Note(ended(first)) }, "a1/c a2/d"},
		"a pod is gone":                 {func(b *Book) []types.NamespacedName { return b.Gone(first.UID) }, "a1/c a2/d"},
		"a pod is resized":              {func(b *Book) []types.NamespacedName { return b.Note(small(first)) }, "a1/c"},
		"a promise is not needed":       {func(b *Book) []types.NamespacedName { return b.Withdraw(first.UID) }, "a1/c a2/d"},
		"the quota grows":               {func(b *Book) []types.NamespacedName { return b.Set(Entries(binding("x: team=a: cpu=9")), nil) }, "a1/b"},
		"the quota shrinks":             {func(b *Book) []types.NamespacedName { return b.Set(Entries(binding("x: team=a: cpu=1")), nil) }, ""},
		"the quota is gone":             {func(b *Book) []types.NamespacedName { return b.Set(nil, nil) }, "a1/b a1/c a1/e a2/d b1/a"},
		"it holds for another team now": {func(b *Book) []types.NamespacedName { return b.Set(Entries(binding("x: team=b: cpu=1")), nil) }, "a1/b a1/c a1/e a2/d"},
		"nothing":                       {func(b *Book) []types.NamespacedName { return b.Note(pod("a1/z", "cpu=1")) }, ""},
		"another team":                  {func(b *Book) []types.NamespacedName { return b.Gone("b1a") }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			book := &Book{Labels: teams}
			book.Set(Entries(binding("x: team=a: cpu=4")), func() []Pod { return []Pod{pod("b1/a", "cpu=9")} })
			for _, p := range []Pod{first, pod("a1/e", "cpu=3"), pod("a2/d", "cpu=1"), pod("a1/c", "cpu=3"), pod("a1/b", "cpu=5")} {
				book.Ask(p)
			}
			if got := names(test.change(book)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestNeverTooMuch plays random pods, quotas and labels. The used amounts always equal the sum, no pod gets room that there is
// not, and no pod waits that fits. A lower quota, a resize and other labels may put a quota over. Then nothing is sent on it.
func TestNeverTooMuch(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	team := map[string]string{}
	labels := func(namespace string) (map[string]string, bool) {
		if of, moved := team[namespace]; moved {
			return map[string]string{"team": of}, of != ""
		}
		return teams(namespace)
	}
	book, pods := &Book{Labels: labels}, map[types.UID]Pod{}
	quotas := []string{"all: cpu=20", "a: team=a: cpu=8"}
	book.Set(Entries(binding(quotas...)), func() []Pod { return nil })
	sums := func() (all, ofA int64) {
		for uid, p := range pods {
			if a := book.pods[uid]; a != nil && a.state == counts {
				all += p.Size["cpu"]
				if of, known := labels(p.Namespace); !known || of["team"] == "a" {
					ofA += p.Size["cpu"]
				}
			}
		}
		return all, ofA
	}
	for i := range 20_000 {
		p := pod(fmt.Sprintf("%c%d/%c", 'a'+rune(chance.IntN(2)), chance.IntN(2), 'a'+rune(chance.IntN(26))), fmt.Sprintf("cpu=%d", 1+chance.IntN(6)))
		before, known := pods[p.UID]
		if known {
			p.Size, p.Sent = before.Size, before.Sent
		}
		all, ofA := sums()
		may := [2]int64{max(all, book.sums.entries[0].hard["cpu"]), max(ofA, book.sums.entries[1].hard["cpu"])}
		switch chance.IntN(11) {
		case 0, 1:
			pods[p.UID] = p
			book.Ask(p)
		case 2:
			delete(pods, p.UID)
			book.Gone(p.UID)
		case 3:
			book.Withdraw(p.UID)
		case 4:
			if a := book.pods[p.UID]; a != nil && a.state == counts {
				p.Sent = true
				pods[p.UID] = p
				book.Note(p)
			}
		case 5: // It asks after its deletion.
			delete(pods, p.UID)
			book.Gone(p.UID)
			book.Ask(p)
			book.Forget(p.NamespacedName)
		case 6:
			ended := p
			ended.Ended = true
			delete(pods, p.UID)
			book.Note(ended)
		case 7: // It is resized.
			if known {
				p.Size = Amounts{"pods": 1, "cpu": 1000 * int64(1+chance.IntN(6))}
				pods[p.UID] = p
				book.Note(p)
				grown := max(0, p.Size["cpu"]-before.Size["cpu"])
				may[0], may[1] = may[0]+grown, may[1]+grown
			}
		case 8:
			quotas = []string{fmt.Sprintf("all: cpu=%d", 10+chance.IntN(15)), fmt.Sprintf("a: team=a: cpu=%d", chance.IntN(12))}
			book.Set(Entries(binding(quotas...)), nil)
			may[0], may[1] = max(all, book.sums.entries[0].hard["cpu"]), max(ofA, book.sums.entries[1].hard["cpu"])
		case 9: // Its labels change, or are not known.
			team[p.Namespace] = []string{"a", "b", ""}[chance.IntN(3)]
			_, ofA = sums()
			may[1] = max(ofA, may[1])
			book.Relabelled(p.Namespace)
		case 10: // The manager starts again. It finds what was sent or promised.
			fresh := &Book{Labels: labels}
			fresh.Set(Entries(binding(quotas...)), func() (list []Pod) {
				for uid, p := range pods {
					if a := book.pods[uid]; a != nil && a.state == counts {
						p.Sent = true
					}
					pods[uid] = p
					list = append(list, p)
				}
				return list
			})
			book = fresh
		}
		all, ofA = sums()
		if all > may[0] || ofA > may[1] || book.sums.used[0]["cpu"] != all || book.sums.used[1]["cpu"] != ofA {
			t.Fatalf("step %d: %d and %d are sent, of %v, the book says %v", i, all, ofA, may, book.sums.used)
		}
		var kept [2]int64
		for _, a := range book.waiting {
			for _, i := range book.sums.of(a.Namespace) {
				if a.state != elsewhere {
					kept[i] += a.Size["cpu"]
				}
			}
		}
		if kept != [2]int64{book.kept[0]["cpu"], book.kept[1]["cpu"]} {
			t.Fatalf("step %d: %v is kept, and the book says %v", i, kept, book.kept)
		}
		named := 0
		for name, uids := range book.named {
			named += len(uids)
			for _, uid := range uids {
				if a := book.pods[uid]; a == nil || a.NamespacedName != name {
					t.Fatalf("step %d: %s is not a pod of the name %s", i, uid, name)
				}
			}
		}
		if named != len(book.pods) {
			t.Fatalf("step %d: %d pods have a name, want %d", i, named, len(book.pods))
		}
		if !book.changed {
			book.changed = true
			if got := book.settle(); len(got) > 0 {
				t.Fatalf("step %d: %v would have got room, and nothing has changed", i, got)
			}
			book.changed = false
		}
		for at, a := range book.waiting {
			// After a restart, older pods that are not decided about yet keep their room.
			kept := slices.ContainsFunc(book.waiting[:at], func(older *account) bool { return older.state == unknown })
			if a.state == asks && !kept && book.sums.short(&a.Pod) == nil {
				t.Fatalf("step %d: %s waits although it fits", i, a.NamespacedName)
			}
		}
	}
}

// TestRelabelled: another label of a namespace counts at once, for what it has sent, too.
func TestRelabelled(t *testing.T) {
	labels := map[string]string{"team": "a"}
	book := &Book{Labels: func(string) (map[string]string, bool) { return labels, true }}
	book.Set(Entries(binding("x: team=a: pods=1", "y: team=b: pods=3")), func() []Pod { return nil })
	for _, name := range []string{"n/a", "n/b", "n/c"} {
		book.Ask(pod(name, ""))
	}
	if got := names(book.Relabelled("n")); got != "" {
		t.Errorf("without a change: %s", got)
	}
	labels = map[string]string{"team": "b"}
	if got := names(book.Relabelled("other")); got != "" {
		t.Errorf("of another namespace: %s", got)
	}
	if got := names(book.Relabelled("n")); got != "n/b n/c" {
		t.Errorf("of another team: %q", got)
	}
	if short, _ := book.Ask(pod("n/d", "")); short == nil || short.Quota != "y" || short.Used != "3" {
		t.Errorf("then %+v", short)
	}
}

// TestUnknownLabels: while the labels of a namespace are not known, its pods count for all quotas, and must keep to all.
func TestUnknownLabels(t *testing.T) {
	known := false
	book := &Book{Labels: func(string) (map[string]string, bool) { return map[string]string{"team": "b"}, known }}
	sent := pod("n/a", "cpu=1")
	sent.Sent = true
	book.Set(Entries(binding("x: team=a: cpu=2", "y: team=b: cpu=9")), func() []Pod { return []Pod{sent} })
	if short, _ := book.Ask(pod("n/b", "cpu=2")); short == nil || short.Quota != "x" || short.Used != "1" {
		t.Errorf("not known: %+v", short)
	}
	known = true
	if got := names(book.Relabelled("n")); got != "n/b" {
		t.Errorf("known: %q may be sent", got)
	}
	if short, _ := book.Ask(pod("n/c", "cpu=7")); short == nil || short.Quota != "y" || short.Used != "3" {
		t.Errorf("then %+v", short)
	}
}

// TestLargeAmounts: what does not fit into an int64 is much, not nothing.
func TestLargeAmounts(t *testing.T) {
	book := &Book{Labels: teams}
	book.Set(Entries(binding("x: cpu=10P memory=100E")), func() []Pod { return nil })
	for _, name := range []string{"n/a", "n/b"} {
		if short, _ := book.Ask(pod(name, "cpu=10E memory=10E")); short != nil {
			t.Errorf("%s: %+v", name, short)
		}
	}
}

// TestLeft: a pod returns only to a provider whose quotas have room for it.
func TestLeft(t *testing.T) {
	sent := pod("a2/a", "cpu=3 limits.cpu=3")
	waiting := pod("a1/w", "cpu=500m")
	mine := []Pod{pod("a1/x", "cpu=1 limits.cpu=2")}
	free := spill.SizeOfList(list("cpu=8 memory=4Gi pods=100"))
	for name, test := range map[string]struct {
		quotas []string
		want   string
	}{
		"no quota":           {nil, "cpu=8 memory=4Gi pods=100"},
		"of another team":    {[]string{"x: team=b: cpu=1"}, "cpu=8 memory=4Gi pods=100"},
		"some is left":       {[]string{"x: team=a: cpu=5"}, "cpu=1500m memory=4Gi pods=100"},
		"the smallest":       {[]string{"x: team=a: cpu=5 memory=1Gi", "y: cpu=4500m"}, "cpu=1 memory=1Gi pods=100"},
		"nothing is left":    {[]string{"x: team=a: cpu=2"}, "memory=4Gi pods=100"},
		"no pod is left":     {[]string{"x: pods=2"}, "cpu=8 memory=4Gi"},
		"limits are left":    {[]string{"x: limits.cpu=5"}, "cpu=8 memory=4Gi pods=100"},
		"no limits are left": {[]string{"x: limits.cpu=4"}, ""},
	} {
		_, left := UseOf(binding(test.quotas...), []Pod{sent}, teams).Left("a1", []Pod{waiting}, teams)
		all, _ := UseOf(binding(test.quotas...), []Pod{sent, waiting}, teams).Left("a1", nil, teams)
		if diff := cmp.Diff(all, left); diff != "" {
			t.Errorf("%s: pods that come later (-there already +besides):\n%s", name, diff)
		}
		if diff := cmp.Diff(spill.SizeOfList(list(test.want)), append(spill.Size{}, left.Within(free, mine)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSettlesForNobody: a pod that ends is no reason to look at all pods that wait if none of them can use its room.
func TestSettlesForNobody(t *testing.T) {
	book := &Book{Labels: teams}
	book.Set(Entries(binding("x: team=a: cpu=4", "y: team=b: pods=1")), func() []Pod { return nil })
	for _, name := range []string{"a1/a", "a1/b", "a1/c", "b1/a", "c1/a"} {
		book.Ask(pod(name, "cpu=3"))
	}
	book.settle()
	for _, uid := range []types.UID{"b1a", "c1a"} {
		if !book.drop(book.pods[uid]) || book.changed {
			t.Errorf("%s is gone, and others are looked at", uid)
		}
	}
	if looked := testing.AllocsPerRun(9, func() { book.settle() }); looked > 0 || book.asking != 2 {
		t.Errorf("%v allocations although nothing has changed, and %d pods ask", looked, book.asking)
	}
	if got := names(book.Forget(types.NamespacedName{Namespace: "a1", Name: "a"})); got != "a1/b" {
		t.Errorf("%q got the room, want a1/b", got)
	}
}

// BenchmarkFull has 10,000 pods come to a quota that is full.
func BenchmarkFull(b *testing.B) {
	for b.Loop() {
		book := &Book{Labels: teams}
		book.Set(Entries(binding("x: cpu=1")), func() []Pod { return nil })
		for i := range 10_000 {
			p := pod("a1/x", "cpu=2")
			p.Name, p.UID = fmt.Sprint(i), types.UID(fmt.Sprint(i))
			book.Ask(p)
			book.Ask(p)
		}
	}
}

func TestStatus(t *testing.T) {
	cb := binding("b: pods=2 requests.cpu=1 memory=1Gi", "a: team=a: limits.cpu=2")
	sent := pod("a1/a", "cpu=1500m limits.cpu=2 memory=512Mi")
	sent.Sent = true
	ended := sent
	ended.UID, ended.Ended = "ended", true
	got := Status(cb, []Pod{sent, ended, pod("a1/b", "cpu=3")}, teams)
	want := []v1alpha1.QuotaStatus{
		{Name: "a", Hard: list("limits.cpu=2"), Used: list("limits.cpu=2")},
		{Name: "b", Hard: list("pods=2 requests.cpu=1 memory=1Gi"), Used: list("pods=1 requests.cpu=1500m memory=512Mi"), Over: []string{"requests.cpu"}},
	}
	if !Same(got, want) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
	if got, want := Describe(&got[1]), "b: 512Mi of 1Gi memory, 1 of 2 pods, 1500m of 1 requests.cpu (over)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, change := range map[string]func(*v1alpha1.QuotaStatus){
		"name": func(s *v1alpha1.QuotaStatus) { s.Name = "c" }, "hard": func(s *v1alpha1.QuotaStatus) { s.Hard = list("limits.cpu=3") },
		"used": func(s *v1alpha1.QuotaStatus) { s.Used = list("limits.cpu=1") }, "over": func(s *v1alpha1.QuotaStatus) { s.Over = []string{"x"} },
		"names": func(s *v1alpha1.QuotaStatus) { s.Used = list("pods=2") },
	} {
		other := []v1alpha1.QuotaStatus{*got[0].DeepCopy(), *got[1].DeepCopy()}
		if change(&other[0]); Same(got, other) {
			t.Errorf("%s: a difference is not seen", name)
		}
	}
}

func TestUnchanged(t *testing.T) {
	before := (&Shortage{Quota: "a", Resource: "cpu", Requests: "2", Used: "9", Hard: "10"}).Message("eu")
	for name, test := range map[string]struct {
		after Shortage
		want  bool
	}{
		"other numbers":    {Shortage{Quota: "a", Resource: "cpu", Requests: "2", Used: "10", Hard: "10", Kept: "3"}, true},
		"another quota":    {Shortage{Quota: "b", Resource: "cpu", Requests: "2", Used: "9", Hard: "10"}, false},
		"another resource": {Shortage{Quota: "a", Resource: "pods", Requests: "2", Used: "9", Hard: "10"}, false},
		"another limit":    {Shortage{Quota: "a", Resource: "cpu", Requests: "2", Used: "9", Hard: "11"}, false},
	} {
		if got := Unchanged(before, test.after.Message("eu")); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Unchanged("", "") || !maps.Equal(allowed(list("cpu=1")), Amounts{"cpu": 1000}) {
		t.Error("nothing says nothing")
	}
}

// BenchmarkRoom has pods come to a quota with room for all, be sent, and leave. Twice as many must not cost much more than
// twice as much.
func BenchmarkRoom(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				book := &Book{Labels: teams}
				book.Set(Entries(binding("x: cpu=100k")), func() []Pod { return nil })
				all := make([]Pod, n)
				for i := range all {
					all[i] = pod("a1/x", "cpu=2")
					all[i].Name, all[i].UID = fmt.Sprint(i), types.UID(fmt.Sprint(i))
					book.Note(all[i])
				}
				for _, p := range all {
					if short, _ := book.Ask(p); short != nil {
						b.Fatal(short)
					}
				}
				for _, p := range all {
					book.Gone(p.UID)
					book.Forget(p.NamespacedName)
				}
			}
		})
	}
}
