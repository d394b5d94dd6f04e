package field

import (
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestMappedAccounts(t *testing.T) {
	all := func(name, remote string) v1alpha1.ServiceAccountMapping {
		return v1alpha1.ServiceAccountMapping{Namespace: "*", Name: v1alpha1.ServiceAccountName(name), RemoteName: v1alpha1.ServiceAccountName(remote)}
	}
	one := all("reader", "own")
	one.Namespace = "team"
	for name, test := range map[string]struct {
		accounts            Accounts
		namespace, of, want string
	}{
		"none is mapped":             {nil, "team", "reader", ""},
		"by the namespace":           {Accounts{one}, "team", "reader", "own"},
		"in another namespace":       {Accounts{one}, "other", "reader", ""},
		"of another name":            {Accounts{one}, "team", "writer", ""},
		"in every namespace":         {Accounts{all("reader", "all")}, "team", "reader", "all"},
		"the namespace comes first":  {Accounts{all("reader", "all"), one}, "team", "reader", "own"},
		"whatever the order":         {Accounts{one, all("reader", "all")}, "team", "reader", "own"},
		"and only in that namespace": {Accounts{one, all("reader", "all")}, "other", "reader", "all"},
		"a star is no name":          {Accounts{one}, "*", "reader", ""},
	} {
		if got, mapped := test.accounts.Of(test.namespace, test.of); got != test.want || mapped != (test.want != "") {
			t.Errorf("%s: got %q, %t", name, got, mapped)
		}
	}
}

// accountTable says what serviceAccounts of the limits allows. TestConsumerAccounts in test/admission checks
// the same of the policy.
var accountTable = map[string]struct {
	limits, namespace, name string
	allowed, token          bool
}{
	"nothing is listed":            {"", "team-eu", "reader", false, false},
	"the default account":          {"", "team-eu", "default", true, false},
	"its token":                    {"*/default+token", "team-eu", "default", true, true},
	"by name":                      {"team-eu/reader", "team-eu", "reader", true, false},
	"with its token":               {"team-eu/reader+token", "team-eu", "reader", true, true},
	"twice":                        {"*/reader+token,team-eu/reader", "team-eu", "reader", true, true},
	"in another namespace":         {"team-eu/reader", "team-us", "reader", false, false},
	"in one that begins so":        {"team-eu/reader", "team-eu-b", "reader", false, false},
	"in one that ends so":          {"team-eu/reader", "a-team-eu", "reader", false, false},
	"of another name":              {"team-eu/reader", "team-eu", "reade", false, false},
	"of a longer name":             {"team-eu/reader", "team-eu", "s3-reader", false, false},
	"the suffix is no name":        {"team-eu/reader+token", "team-eu", "reader+token", false, false},
	"a dot is a dot":               {"team-eu/s3.reader", "team-eu", "s3-reader", false, false},
	"a pattern":                    {"team-*/reader", "team-eu", "reader", true, false},
	"a pattern of nothing more":    {"team-*/reader", "team-", "reader", true, false},
	"a pattern of another":         {"team-*/reader", "my-team-eu", "reader", false, false},
	"a pattern with an end":        {"*-eu/reader", "team-eu", "reader", true, false},
	"a pattern with another end":   {"*-eu/reader", "team-eu-b", "reader", false, false},
	"a pattern with a middle":      {"a*b*c/reader", "a-b-bc", "reader", true, false},
	"a pattern without its middle": {"a*b*c/reader", "a-c", "reader", false, false},
	"a part counts once":           {"ab*ba/reader", "aba", "reader", false, false},
	"any namespace":                {"*/reader", "team-eu", "reader", true, false},
}

func TestAccounts(t *testing.T) {
	for name, test := range accountTable {
		limits := LimitsOf(map[string]string{LimitServiceAccounts: test.limits})
		if allowed, token := limits.Account(test.namespace, test.name); allowed != test.allowed || token != test.token {
			t.Errorf("%s: allowed %t, token %t", name, allowed, token)
		}
	}
}
