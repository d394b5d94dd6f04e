package field

import "testing"

func TestDenied(t *testing.T) {
	const user = `persistentvolumes is forbidden: User "system:serviceaccount:spillway-system:spillway-manager" cannot `
	type said struct {
		denied          bool
		rights, volumes int
	}
	for answer, want := range map[string]said{
		`ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`:        {denied: true},
		`admission webhook "w.example.com" denied the request: no`:                 {denied: true},
		user + `create resource "persistentvolumes" in API group ""`:               {rights: 1, volumes: 1},
		user + `patch resource "persistentvolumeclaims/status" in API group ""`:    {rights: 1, volumes: 1},
		user + `patch resource "persistentvolumeclaims" in API group ""`:           {rights: 1},
		user + `delete resource "persistentvolumes"; ` + user + `get resource "x"`: {rights: 2, volumes: 1},
	} {
		if got := (said{Denied(answer), LacksRights(answer), LacksVolumes(answer)}); got != want {
			t.Errorf("%s: got %+v", answer, got)
		}
	}
}
