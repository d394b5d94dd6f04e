//go:build e2e

package e2e

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Every namespace of a spec with pods has these two objects.
const (
	greetingName = "greeting"
	passwordName = "password"
)

func greetingIn(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: greetingName},
		Data:       map[string]string{"word": "hello"},
	}
}

func passwordIn(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: passwordName},
		StringData: map[string]string{"word": "secret"},
	}
}

// reader is a pod whose container prints ConfigMap and Secret, from its environment and from files. It ends
// with the given exit code.
func reader(namespace, name string, exitCode int) *corev1.Pod {
	pod := newPod(namespace, name, readingSpec(exitCode))
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

func readingSpec(exitCode int) corev1.PodSpec {
	spec := podSpec(fmt.Sprintf(`echo "from env: $GREETING/$PASSWORD"
echo "from files: $(cat /greeting/word)/$(cat /password/word)"
exit %d`, exitCode))
	readBoth(&spec)
	return spec
}

// sleeper is a pod that runs until it is told to end, and then ends at once.
func sleeper(namespace, name string) *corev1.Pod {
	return newPod(namespace, name, sleepingSpec())
}

func sleepingSpec() corev1.PodSpec {
	spec := podSpec(`trap "exit 0" TERM
sleep 2147483647 & wait`)
	readBoth(&spec)
	return spec
}

// page is what the server serves.
const page = "a page from the server"

func serverIn(namespace string) *appsv1.Deployment {
	server := newDeployment(namespace, "web", 1)
	server.Spec.Template.Spec = podSpec(fmt.Sprintf(`trap "exit 0" TERM
echo %q >/tmp/index.html
httpd -f -p 8080 -h /tmp & wait`, page))
	return server
}

// serviceIn has another port than the server, so only a proxy makes it answer.
func serviceIn(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

// fetcher is a pod that fetches the page by the Service's name, and prints it.
func fetcher(namespace, name string) *corev1.Pod {
	pod := newPod(namespace, name, podSpec(`until wget -q -O - http://web; do sleep 1; done`))
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

func newPod(namespace, name string, spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

func podSpec(script string) corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Containers: []corev1.Container{{
			Name:            "main",
			Image:           factory.Image(),
			ImagePullPolicy: corev1.PullIfNotPresent,
			Command:         []string{"/bin/sh", "-c", script},
		}},
	}
}

// readBoth adds ConfigMap and Secret to the container, in both ways.
func readBoth(spec *corev1.PodSpec) {
	spec.Volumes = []corev1.Volume{
		{Name: greetingName, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: greetingName},
		}}},
		{Name: passwordName, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: passwordName}}},
	}
	container := &spec.Containers[0]
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: greetingName, MountPath: "/greeting", ReadOnly: true},
		{Name: passwordName, MountPath: "/password", ReadOnly: true},
	}
	container.Env = []corev1.EnvVar{
		{Name: "GREETING", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: greetingName}, Key: "word",
		}}},
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: passwordName}, Key: "word",
		}}},
	}
}
