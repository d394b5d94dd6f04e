package hosted

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// EC2 plays the launch templates of an account, in EC2's own protocol: forms and XML.
type EC2 struct {
	player

	templates map[string]*launchTemplate
	// tokens have the form that came with each token, and the answer to it.
	tokens map[string][2]string
	// roots are the root devices of images.
	roots map[string]string
	// refuse is an action for which the caller has no right.
	refuse string
	// forms are all requests.
	forms []url.Values
}

// NewEC2 returns an account without launch templates.
func NewEC2() *EC2 {
	return &EC2{templates: map[string]*launchTemplate{}, tokens: map[string][2]string{}, roots: map[string]string{}}
}

// Templates returns the names of the launch templates.
func (e *EC2) Templates() []string {
	e.lock.Lock()
	defer e.lock.Unlock()
	var names []string
	for _, template := range e.templates {
		names = append(names, template.name)
	}
	slices.Sort(names)
	return names
}

// data returns the content of a template's version that EKS was given; nil if it does not exist.
func (e *EC2) data(of object) object {
	e.lock.Lock()
	defer e.lock.Unlock()
	id, _ := of["id"].(string)
	version, _ := of["version"].(string)
	number, err := strconv.Atoi(version)
	template := e.templates[id]
	if template == nil || err != nil || !template.has(number) {
		return nil
	}
	return template.versions[number-1]
}

// named returns what EKS shows of a template that it was given.
func (e *EC2) named(of object) object {
	e.lock.Lock()
	defer e.lock.Unlock()
	of = maps.Clone(of)
	id, _ := of["id"].(string)
	if template := e.templates[id]; template != nil {
		of["name"] = template.name
	}
	return of
}

func (e *EC2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		panic(err)
	}
	defer e.turn(r)()
	e.forms = append(e.forms, r.PostForm)
	action, token := r.PostForm.Get("Action"), r.PostForm.Get("ClientToken")
	before, known := e.tokens[token]
	code, answer := "", before[1]
	switch {
	case action == e.refuse:
		code = "UnauthorizedOperation"
	case known && token != "" && before[0] != r.PostForm.Encode():
		code = "IdempotentParameterMismatch"
	case !known || token == "":
		answer, code = e.do(action, nested(r.PostForm))
	}
	w.Header().Set("Content-Type", "text/xml")
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `<Response><Errors><Error><Code>%s</Code><Message>no</Message></Error></Errors><RequestID>%d</RequestID></Response>`, code, len(e.forms))
		return
	}
	if token != "" {
		e.tokens[token] = [2]string{r.PostForm.Encode(), answer}
	}
	if !known && !strings.HasPrefix(action, "Describe") {
		e.changes = append(e.changes, action)
	}
	fmt.Fprintf(w, `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>%[2]d</requestId>%[3]s</%[1]sResponse>`, action, len(e.forms), answer)
}

// do returns the answer, or the code of an error.
func (e *EC2) do(action string, form object) (answer, code string) {
	id, _ := form["LaunchTemplateId"].(string)
	template := e.templates[id]
	if template == nil && id != "" {
		return "", "InvalidLaunchTemplateId.NotFound"
	}
	data, _ := form["LaunchTemplateData"].(object)
	switch action {
	case "CreateLaunchTemplate":
		return e.create(form, data)
	case "CreateLaunchTemplateVersion":
		template.versions = append(template.versions, data)
		template.describe(form)
		return element("launchTemplateVersion", template.version(len(template.versions))), ""
	case "DeleteLaunchTemplate":
		delete(e.templates, id)
		return element("launchTemplate", template.shown()), ""
	case "DescribeLaunchTemplates":
		return e.list(form), ""
	case "DescribeLaunchTemplateVersions":
		return template.list(form)
	case "DeleteLaunchTemplateVersions":
		template.delete(listed(form, "LaunchTemplateVersion"))
		return "", ""
	case "DescribeImages":
		image, _ := listed(form, "ImageId")[0].(string)
		if e.roots[image] == "" {
			return "", "InvalidAMIID.NotFound"
		}
		return element("images", object{"1": object{"ImageId": image, "RootDeviceName": e.roots[image]}}), ""
	default:
		return "", "InvalidAction"
	}
}

func (e *EC2) create(form, data object) (answer, code string) {
	name, _ := form["LaunchTemplateName"].(string)
	for _, other := range e.templates {
		if other.name == name {
			return "", "InvalidLaunchTemplateName.AlreadyExistsException"
		}
	}
	template := &launchTemplate{id: fmt.Sprintf("lt-made-%d", len(e.forms)), name: name, tags: object{}, versions: []object{data}}
	template.describe(form)
	for _, specification := range listed(form, "TagSpecification") {
		for _, tag := range listed(specification.(object), "Tag") {
			template.tags[tag.(object)["Key"].(string)] = tag.(object)["Value"]
		}
	}
	e.templates[template.id] = template
	return element("launchTemplate", template.shown()), ""
}

// list filters by tags. A final * matches anything.
func (e *EC2) list(form object) string {
	found := ""
	for _, id := range slices.Sorted(maps.Keys(e.templates)) {
		template, all := e.templates[id], true
		for _, filter := range listed(form, "Filter") {
			key, _ := strings.CutPrefix(filter.(object)["Name"].(string), "tag:")
			has, _ := template.tags[key].(string)
			all = all && slices.ContainsFunc(listed(filter.(object), "Value"), func(value any) bool {
				prefix, open := strings.CutSuffix(value.(string), "*")
				return has == value || open && strings.HasPrefix(has, prefix)
			})
		}
		if all {
			found += element("item", template.shown())
		}
	}
	return "<launchTemplates>" + found + "</launchTemplates>"
}

// nested turns form keys such as A.B.1.C into a tree.
func nested(form url.Values) object {
	out := object{}
	for key, values := range form {
		at, parts := out, strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			next, ok := at[part].(object)
			if !ok {
				next = object{}
				at[part] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = values[0]
	}
	return out
}

// listed returns the values at 1, 2 and so on.
func listed(of object, name string) []any {
	numbered, _ := of[name].(object)
	var list []any
	for i := 1; numbered[strconv.Itoa(i)] != nil; i++ {
		list = append(list, numbered[strconv.Itoa(i)])
	}
	return list
}

// element writes a value in EC2's format: names begin in lower case, and lists are sets of items.
func element(name string, value any) string {
	name = strings.ToLower(name[:1]) + name[1:]
	content := ""
	switch v := value.(type) {
	case object:
		if v["1"] != nil {
			name += "Set"
			for _, item := range listed(object{"": v}, "") {
				content += element("item", item)
			}
			break
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			content += element(key, v[key])
		}
	default:
		var escaped strings.Builder
		if err := xml.EscapeText(&escaped, fmt.Append(nil, v)); err != nil {
			panic(err)
		}
		content = escaped.String()
	}
	return "<" + name + ">" + content + "</" + name + ">"
}
