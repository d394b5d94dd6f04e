package clusters

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	o, err := Options{
		Name: "c1", Dir: t.TempDir(), BinDir: "/bin/kube",
		Components:            AllComponents(),
		APIServerArgs:         map[string]string{"authorization-mode": "RBAC", "v": "4"},
		ControllerManagerArgs: map[string]string{"kube-api-qps": "7"},
		NodeGrace:             12 * time.Second,
		PodCIDR:               "10.12.0.0/24",
		MakeVolumes:           true,
	}.complete()
	if err != nil {
		t.Fatal(err)
	}
	config := configFor(o, portsFrom([]int{1, 2, 3, 4, 5, 6}), "")

	for key, want := range map[string]struct {
		component Component
		arg       extraArg
	}{
		"a flag that would add up is replaced":       {KubeAPIServer, extraArg{"authorization-mode", "RBAC", true}},
		"any other flag is added":                    {KubeAPIServer, extraArg{"v", "4", false}},
		"the caller's flags win over ours":           {KubeControllerManager, extraArg{"kube-api-qps", "7", false}},
		"no component exits when it loses its lease": {KubeScheduler, extraArg{"leader-elect", "false", false}},
		"kwok does not take all nodes":               {KwokController, extraArg{"manage-all-nodes", "false", false}},
		"kwok gives pods addresses of the range":     {KwokController, extraArg{"cidr", "10.12.0.0/24", false}},
		"the controller manager creates volumes":     {KubeControllerManager, extraArg{"enable-hostpath-provisioner", "true", false}},
		"kwok takes the nodes that are labelled so":  {KwokController, extraArg{"manage-nodes-with-label-selector", "type=kwok", false}},
	} {
		t.Run(key, func(t *testing.T) {
			i := slices.IndexFunc(config.ComponentsPatches, func(p componentPatch) bool { return p.Name == want.component })
			if i < 0 || !slices.Contains(config.ComponentsPatches[i].ExtraArgs, want.arg) {
				t.Errorf("want %+v for %s, got %+v", want.arg, want.component, config.ComponentsPatches)
			}
		})
	}
	if got := config.Options; got.BindAddress != "127.0.0.1" || got.NodeLeaseDurationSeconds != 12 ||
		got.NodeMonitorGracePeriod != 12000 || got.NodeMonitorPeriod != 1500 {
		t.Errorf("unexpected options: %+v", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"is not a DNS label": {Name: "../c1"},
		"unknown component":  {Name: "c1", Components: []Component{"kubelet"}},
		"nodes need the":     {Name: "c1", Nodes: []Node{{Name: "n"}}},
		"is shorter than 4s": {Name: "c1", NodeGrace: time.Second},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := o.complete(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
		})
	}
}

func TestMissingBinariesSayWhatToDo(t *testing.T) {
	_, err := Up(t.Context(), Options{Name: "c1", Dir: t.TempDir(), BinDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "run `make kube`") {
		t.Errorf("want an error that names `make kube`, got %v", err)
	}
}

func TestNameOfAnotherProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := own(dir, "c1"); err != nil {
		t.Fatal(err)
	}
	if err := own(dir, "c1"); err != nil {
		t.Errorf("the owner must be allowed to own again, got %v", err)
	}
	// A lock belongs to an open file, so a second file acts like another process.
	if _, err := lockFile(ownerFile(dir, "c1"), 0); !errors.Is(err, errLocked) {
		t.Errorf("want %v, got %v", errLocked, err)
	}
	disown(dir, "c1")
	unlock, err := lockFile(ownerFile(dir, "c1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := own(dir, "c1"); !errors.Is(err, errLocked) {
		t.Errorf("want %v, got %v", errLocked, err)
	}
	unlock()
}

func TestPortsAreReservedOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const reservations = 8
	results := make(chan []int, reservations)
	for range reservations {
		dir := t.TempDir()
		go func() {
			found, err := reservePorts(dir, portsPerCluster)
			if err != nil {
				t.Error(err)
			}
			results <- found
		}()
	}
	seen := map[int]bool{}
	for range reservations {
		for _, port := range <-results {
			if seen[port] {
				t.Errorf("port %d was reserved twice", port)
			}
			seen[port] = true
		}
	}
	if len(seen) != reservations*portsPerCluster {
		t.Errorf("want %d ports, got %d", reservations*portsPerCluster, len(seen))
	}
}
