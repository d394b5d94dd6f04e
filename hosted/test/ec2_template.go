package hosted

import (
	"maps"
	"slices"
	"strconv"
)

// launchTemplate is a launch template with its versions.
type launchTemplate struct {
	id, name string
	tags     object
	versions []object // As they were sent, from version 1, which is the default. Deleted ones are nil.
	// described has the descriptions of versions, by number.
	described map[int]any
}

// describe notes the description of the latest version.
func (t *launchTemplate) describe(form object) {
	if t.described == nil {
		t.described = map[int]any{}
	}
	t.described[len(t.versions)] = form["VersionDescription"]
}

func (t *launchTemplate) has(number int) bool {
	return number >= 1 && number <= len(t.versions) && t.versions[number-1] != nil
}

// left returns the numbers of the versions that exist.
func (t *launchTemplate) left() []int {
	var numbers []int
	for number := range len(t.versions) + 1 {
		if t.has(number) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// delete deletes versions, but never the default one.
func (t *launchTemplate) delete(numbers []any) {
	for _, text := range numbers {
		if number, err := strconv.Atoi(text.(string)); err == nil && number > 1 && t.has(number) {
			t.versions[number-1] = nil
		}
	}
}

// list returns one version, or those from a number to another.
func (t *launchTemplate) list(form object) (answer, code string) {
	if one := listed(form, "LaunchTemplateVersion"); len(one) > 0 {
		number, err := strconv.Atoi(one[0].(string))
		if err != nil || !t.has(number) {
			return "", "InvalidLaunchTemplateId.VersionNotFound"
		}
		return element("launchTemplateVersion", object{"1": t.version(number)}), ""
	}
	least, most := form["MinVersion"].(string), form["MaxVersion"].(string)
	from, err := strconv.Atoi(least)
	to, bad := strconv.Atoi(most)
	if err != nil || bad != nil {
		return "", "InvalidParameterValue"
	}
	found := object{}
	for _, number := range t.left() {
		if number >= from && number <= to {
			found[strconv.Itoa(len(found)+1)] = t.version(number)
		}
	}
	return element("launchTemplateVersion", found), ""
}

func (t *launchTemplate) shown() object {
	tags := object{}
	for i, key := range slices.Sorted(maps.Keys(t.tags)) {
		tags[strconv.Itoa(i+1)] = object{"Key": key, "Value": t.tags[key]}
	}
	return object{"LaunchTemplateId": t.id, "LaunchTemplateName": t.name, "LatestVersionNumber": strconv.Itoa(len(t.versions)), "Tag": tags}
}

func (t *launchTemplate) version(number int) object {
	out := object{
		"LaunchTemplateId": t.id, "LaunchTemplateName": t.name, "VersionNumber": strconv.Itoa(number), "DefaultVersion": strconv.FormatBool(number == 1),
		"LaunchTemplateData": t.versions[number-1],
	}
	if description := t.described[number]; description != nil {
		out["VersionDescription"] = description
	}
	return out
}
