package field

import corev1 "k8s.io/api/core/v1"

// Resizable are the resources that may change while a container runs.
var Resizable = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
