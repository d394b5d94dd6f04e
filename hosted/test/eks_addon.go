package hosted

import (
	"maps"
	"net/http"
)

func addonKey(name string) string { return "addon/" + name }

func (e *EKS) addon(method string, path []string, body object) (object, *failure) {
	name, _ := body["addonName"].(string)
	if len(path) > 0 {
		name = path[0]
	}
	creates := method == http.MethodPost && len(path) == 0
	if !creates && !e.addons[name] {
		return nil, missing
	}
	switch {
	case creates:
		e.addons[name], e.addonHas = true, object{}
		e.role(body)
	case method == http.MethodPost:
		return e.updateAddon(name, body)
	case method == http.MethodDelete:
		delete(e.addons, name)
	}
	addon := object{"addonName": name, "status": "ACTIVE"}
	maps.Copy(addon, e.addonHas)
	return object{"addon": addon}, nil
}

// updateAddon removes the role if the request has none: issue 19402 of hashicorp/terraform-provider-aws.
func (e *EKS) updateAddon(name string, body object) (object, *failure) {
	if body["serviceAccountRoleArn"] == "" {
		return nil, invalid
	}
	e.addonHad = maps.Clone(e.addonHas)
	e.role(body)
	params := object{}
	if role := body["serviceAccountRoleArn"]; role != nil {
		params["ServiceAccountRoleArn"] = role
	}
	return e.update(addonKey(name), "AddonUpdate", params), nil
}

func (e *EKS) role(body object) {
	delete(e.addonHas, "serviceAccountRoleArn")
	if role := body["serviceAccountRoleArn"]; role != nil {
		e.addonHas["serviceAccountRoleArn"] = role
	}
}
