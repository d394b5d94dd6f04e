package measure

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/provider/transport"
	"github.com/spillway-io/spillway/test/requests"
)

// ManagerAccounts returns the manager's users in the consumer and in a provider, if both are installed from
// the shipped manifests.
func ManagerAccounts() []string {
	return []string{
		"system:serviceaccount:spillway-system:spillway-manager",
		"system:serviceaccount:spillway-provider:spillway-consumer",
	}
}

// AuditPolicy returns a policy in YAML that logs the requests of the users, without bodies. Without users it
// logs everybody's. The requests of a cluster's own components then cost nothing.
func AuditPolicy(users ...string) string {
	policy := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n"
	if len(users) > 0 {
		policy += "  users: [\"" + strings.Join(users, `", "`) + "\"]\n- level: None\n"
	}
	return policy
}

// event has the fields of an audit event that are read; see audit.k8s.io/v1. That package is part of the API
// server, and not worth a dependency.
type event struct {
	AuditID    types.UID `json:"auditID"`
	Stage      string    `json:"stage"`
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	UserAgent  string    `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	Received  metav1.MicroTime `json:"requestReceivedTimestamp"`
	At        metav1.MicroTime `json:"stageTimestamp"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// The stages of an audit event. Only watches have both; all other requests have the second one.
const (
	responseStarted  = "ResponseStarted"
	responseComplete = "ResponseComplete"
	panicked         = "Panic"
)

const firstError = 400

// Audit reads the requests of one user agent, by default Spillway's, from the audit log of one API server. It
// is not safe for concurrent use.
type Audit struct {
	cluster, file string
	agent         string // Prefix of the user agent whose requests count.
	offset        int64
	figures       requests.Figures
	seen          sets.Set[types.UID]
	open          map[types.UID]requests.Key
	last          map[requests.Key]time.Time
	strays        int
	firstStray    string
}

// NewAudit returns an Audit of a cluster's log, from its beginning.
func NewAudit(cluster, file string) *Audit { return NewAuditOf(transport.UserAgent, cluster, file) }

// NewAuditOf is NewAudit for another user agent.
func NewAuditOf(agent, cluster, file string) *Audit {
	return &Audit{
		cluster: cluster, file: file, agent: agent,
		figures: requests.Figures{Counts: map[requests.Key]requests.Count{}, Writes: map[requests.Object]int{}},
		seen:    sets.New[types.UID](), open: map[types.UID]requests.Key{}, last: map[requests.Key]time.Time{},
	}
}

// Figures returns all requests so far, in the terms of the Counter in the transports. The log has no bytes
// and does not show writes without effect. A request counts when it is answered, a watch when it has begun.
func (a *Audit) Figures() (requests.Figures, error) {
	if err := a.read(); err != nil {
		return requests.Figures{}, err
	}
	return requests.Figures{Counts: maps.Clone(a.figures.Counts), Writes: maps.Clone(a.figures.Writes)}, nil
}

// OpenWatches returns the number of watches that have not ended, by resource.
func (a *Audit) OpenWatches() (map[string]int, error) {
	if err := a.read(); err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, key := range a.open {
		count[key.Resource]++
	}
	return count, nil
}

// Last returns when the last request that passes all filters was received; zero if there was none.
func (a *Audit) Last(filters ...requests.Filter) (time.Time, error) {
	if err := a.read(); err != nil {
		return time.Time{}, err
	}
	var last time.Time
	for key, at := range a.last {
		passes := !slices.ContainsFunc(filters, func(passes requests.Filter) bool { return !passes(key) })
		if passes && at.After(last) {
			last = at
		}
	}
	return last, nil
}

// read reads the new lines of the log. It returns an error if one has the manager's account but not its user
// agent.
func (a *Audit) read() error {
	if err := a.readOn(); err != nil {
		return err
	}
	if a.strays > 0 {
		return fmt.Errorf("the audit log of cluster %s has %d requests of the manager's accounts that are not of its user agent %s, the first of them %s",
			a.cluster, a.strays, transport.UserAgent, a.firstStray)
	}
	return nil
}

func (a *Audit) readOn() error {
	file, err := os.Open(a.file)
	if err != nil {
		return fmt.Errorf("reading the audit log of cluster %s: %w", a.cluster, err)
	}
	defer file.Close()
	if stat, err := file.Stat(); err != nil || stat.Size() < a.offset {
		return errors.Join(fmt.Errorf("the audit log of cluster %s is shorter than before: it was rotated", a.cluster), err)
	}
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return fmt.Errorf("reading the audit log of cluster %s: %w", a.cluster, err)
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // An incomplete line is read the next time.
		}
		if err != nil {
			return fmt.Errorf("reading the audit log of cluster %s: %w", a.cluster, err)
		}
		a.offset += int64(len(line))
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("the audit log of cluster %s, before byte %d: %w", a.cluster, a.offset, err)
		}
		switch {
		case strings.HasPrefix(e.UserAgent, a.agent):
			a.note(e)
		case strings.HasPrefix(e.UserAgent, transport.UserAgent):
		case slices.Contains(ManagerAccounts(), e.User.Username):
			a.stray(e)
		}
	}
}

// stray records a request of the manager's account without its user agent. Such a client is probably not
// wrapped either. Then no count would include its requests, and every zero would be in doubt.
func (a *Audit) stray(e event) {
	if a.strays == 0 {
		key := a.keyOf(e)
		a.firstStray = fmt.Sprintf("%s %s by %s as %q", key.Verb, key.Resource, e.User.Username, e.UserAgent)
	}
	a.strays++
}

func (a *Audit) note(e event) {
	key := a.keyOf(e)
	ended := e.Stage == responseComplete || e.Stage == panicked
	switch {
	case ended:
		delete(a.open, e.AuditID)
	case e.Stage == responseStarted:
		a.open[e.AuditID] = key
	default:
		return
	}
	if a.seen.Has(e.AuditID) {
		a.seen.Delete(e.AuditID) // The ID does not come a third time.
		return
	}
	if !ended {
		a.seen.Insert(e.AuditID)
	}
	count := a.figures.Counts[key]
	count.Requests++
	if e.ResponseStatus.Code >= firstError || e.Stage == panicked {
		count.Failed++
	}
	a.figures.Counts[key] = count
	if requests.Writes(key) {
		ref := e.ObjectRef
		a.figures.Writes[requests.Object{Cluster: a.cluster, Resource: ref.Resource, Subresource: ref.Subresource, Namespace: ref.Namespace, Name: ref.Name}]++
	}
	if e.Received.After(a.last[key]) {
		a.last[key] = e.Received.Time
	}
}

func (a *Audit) keyOf(e event) requests.Key {
	key := requests.Key{Cluster: a.cluster, Verb: e.Verb, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource}
	if key.Resource == "" {
		key.Resource, _, _ = strings.Cut(e.RequestURI, "?")
	}
	key.Class = requests.ClassOf(key.Verb, key.Resource, e.ObjectRef.Name)
	return key
}
