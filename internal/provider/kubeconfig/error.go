package kubeconfig

import "github.com/spillway-io/spillway/api/v1alpha1"

// Error says why a kubeconfig is not used. It can be shown in a condition, since it holds
// no text of the kubeconfig, and wraps no error that could.
type Error struct {
	// Reason is v1alpha1.ReasonInvalidKubeconfig or v1alpha1.ReasonForbiddenField.
	Reason string
	// Field is the path of the field, such as users[0].user.exec; empty for the document
	// as a whole.
	Field string
	// Message says what is wrong with the field and what to do instead.
	Message string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

func invalid(field, message string) error {
	return &Error{Reason: v1alpha1.ReasonInvalidKubeconfig, Field: field, Message: message}
}

func forbidden(field, message string) error {
	return &Error{Reason: v1alpha1.ReasonForbiddenField, Field: field, Message: message}
}
