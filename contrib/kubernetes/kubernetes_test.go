package kubernetes_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"helm.sh/helm/v3/pkg/chart"
	chartloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the manifests")

// everything enables all parts of the chart that its default values leave out.
var everything = map[string]any{
	"server":        map[string]any{"pushKey": map[string]any{"existingSecret": "push"}, "settings": map[string]any{"audit-days": 90}},
	"ingress":       map[string]any{"enabled": true, "className": "nginx", "annotations": map[string]any{"a/b": "3600"}},
	"runner":        map[string]any{"labels": []any{"gpu"}, "home": map[string]any{"storageClass": "fast"}, "settings": map[string]any{"sandbox": "none"}},
	"sandbox":       map[string]any{"enabled": true, "runtimeClassName": "gvisor"},
	"networkPolicy": map[string]any{"serverCIDR": "10.1.2.3/32"},
}

// render returns the documents of the chart, by file, as helm template does.
func render(t *testing.T, values map[string]any) string {
	t.Helper()
	c, err := chartloader.Load("chart")
	if err != nil {
		t.Fatal(err)
	}
	return renderChart(t, c, values)
}

func renderChart(t *testing.T, c *chart.Chart, values map[string]any) string {
	t.Helper()
	options := chartutil.ReleaseOptions{Name: "sayso", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValuesWithSchemaValidation(c, values, options, chartutil.DefaultCapabilities, false)
	if err != nil {
		t.Fatal(err)
	}
	files, err := (engine.Engine{Strict: true}).Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(files[name]) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "---\n%s\n", strings.TrimSpace(files[name]))
	}
	return text.String()
}

// The types of Agent Sandbox 0.5 (kubernetes-sigs/agent-sandbox, extensions/api/v1beta1), as far as
// the chart uses them.
type (
	sandboxTemplate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			PodTemplate struct {
				Metadata struct {
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"metadata"`
				Spec corev1.PodSpec `json:"spec"`
			} `json:"podTemplate"`
			VolumeClaimTemplates []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
				Spec corev1.PersistentVolumeClaimSpec `json:"spec"`
			} `json:"volumeClaimTemplates"`
			NetworkPolicyManagement    string `json:"networkPolicyManagement"`    // Managed or Unmanaged
			EnvVarsInjectionPolicy     string `json:"envVarsInjectionPolicy"`     // Allowed, Overrides or Disallowed
			VolumeClaimTemplatesPolicy string `json:"volumeClaimTemplatesPolicy"` // the same
		} `json:"spec"`
	}
	sandboxWarmPool struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Replicas           *int32 `json:"replicas"`
			SandboxTemplateRef struct {
				Name string `json:"name"`
			} `json:"sandboxTemplateRef"`
		} `json:"spec"`
	}
	sandboxClaim struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			WarmPoolRef struct {
				Name string `json:"name"`
			} `json:"warmPoolRef"`
			Env []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"env"`
		} `json:"spec"`
	}
)

// workload holds what all workloads have in common.
type workload struct {
	name   string
	labels map[string]string
	spec   corev1.PodSpec
	claims []string
}

// objects holds the documents of a rendered chart.
type objects struct {
	kinds     []string
	workloads []workload
	selectors map[string]*metav1.LabelSelector // of the objects that select pods
	server    *appsv1.Deployment
	runner    *appsv1.StatefulSet
	service   *corev1.Service
	template  *sandboxTemplate
	pool      *sandboxWarmPool
}

// decode reads documents as strictly as the Kubernetes API server: it fails on unknown and duplicate
// fields and on values of another type.
func decode(t *testing.T, text string) objects {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	o := objects{selectors: map[string]*metav1.LabelSelector{}}
	for document := range strings.SplitSeq(text, "\n---\n") {
		document = strings.TrimPrefix(document, "---\n")
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		o.kinds = append(o.kinds, meta.Kind)
		switch meta.Kind {
		case "SandboxTemplate":
			o.template = &sandboxTemplate{}
			strictly(t, document, o.template)
			claims := []string{}
			for _, c := range o.template.Spec.VolumeClaimTemplates {
				claims = append(claims, c.Metadata.Name)
			}
			pod := o.template.Spec.PodTemplate
			o.workloads = append(o.workloads, workload{o.template.Name, pod.Metadata.Labels, pod.Spec, claims})
			continue
		case "SandboxWarmPool":
			o.pool = &sandboxWarmPool{}
			strictly(t, document, o.pool)
			continue
		}
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		switch x := object.(type) {
		case *appsv1.Deployment:
			o.server = x
			o.selectors[x.Name] = x.Spec.Selector
			o.workloads = append(o.workloads, workload{x.Name, x.Spec.Template.Labels, x.Spec.Template.Spec, nil})
		case *appsv1.StatefulSet:
			o.runner = x
			o.selectors[x.Name] = x.Spec.Selector
			claims := []string{}
			for _, c := range x.Spec.VolumeClaimTemplates {
				claims = append(claims, c.Name)
			}
			o.workloads = append(o.workloads, workload{x.Name, x.Spec.Template.Labels, x.Spec.Template.Spec, claims})
		case *corev1.Service:
			o.selectors["service "+x.Name] = &metav1.LabelSelector{MatchLabels: x.Spec.Selector}
			if x.Spec.ClusterIP != corev1.ClusterIPNone {
				o.service = x
			}
		case *policyv1.PodDisruptionBudget:
			o.selectors["budget "+x.Name] = x.Spec.Selector
		case *networkingv1.NetworkPolicy:
			o.selectors["policy "+x.Name] = &x.Spec.PodSelector
		case *networkingv1.Ingress:
			backend := x.Spec.Rules[0].HTTP.Paths[0].Backend.Service
			if x.Spec.Rules[0].Host != "sayso.example.org" || o.service == nil || backend.Name != o.service.Name || backend.Port.Name != o.service.Spec.Ports[0].Name {
				t.Errorf("the ingress leads to %+v", x.Spec)
			}
		default:
			t.Errorf("there is no check for a %T", x)
		}
	}
	return o
}

func strictly(t *testing.T, document string, to any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), to); err != nil {
		t.Fatalf("%v:\n%s", err, document)
	}
}

// check tests what decode cannot: the references between the documents, and what they allow.
func (o objects) check(t *testing.T) {
	t.Helper()
	for _, w := range o.workloads {
		for name, value := range w.labels {
			if len(validation.IsQualifiedName(name)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
				t.Errorf("%s has the label %s=%s", w.name, name, value)
			}
		}
		s := w.spec.SecurityContext
		if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("the pods of %s may be root: %+v", w.name, s)
		}
		if w.spec.AutomountServiceAccountToken == nil || *w.spec.AutomountServiceAccountToken || w.spec.HostNetwork || w.spec.HostPID {
			t.Errorf("the pods of %s reach the cluster or the node", w.name)
		}
		volumes := slices.Clone(w.claims)
		for _, v := range w.spec.Volumes {
			volumes = append(volumes, v.Name)
			if v.HostPath != nil {
				t.Errorf("%s mounts a folder of the node", w.name)
			}
		}
		used := map[string]bool{}
		for _, c := range slices.Concat(w.spec.InitContainers, w.spec.Containers) {
			s := c.SecurityContext
			if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
				s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
				t.Errorf("the container %s of %s may do too much: %+v", c.Name, w.name, s)
			}
			for _, m := range c.VolumeMounts {
				used[m.Name] = true
				if !slices.Contains(volumes, m.Name) {
					t.Errorf("%s mounts %s, which it does not have", w.name, m.Name)
				}
			}
			names := map[string]bool{}
			for _, e := range c.Env {
				if names[e.Name] {
					t.Errorf("%s sets %s twice", w.name, e.Name)
				}
				names[e.Name] = true
			}
		}
		for _, v := range volumes {
			if !used[v] {
				t.Errorf("%s has the volume %s and does not mount it", w.name, v)
			}
		}
	}
	for name, s := range o.selectors {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var selected []string
		for _, w := range o.workloads {
			if selector.Matches(labels.Set(w.labels)) {
				selected = append(selected, w.name)
			}
		}
		want := []string{"sayso-runner"}
		switch {
		case strings.HasSuffix(name, "server"), name == "service sayso":
			want = []string{"sayso-server"}
		case name == "policy sayso-runner" && o.template != nil:
			want = []string{"sayso-runner", "sayso-session"}
		}
		if !slices.Equal(selected, want) {
			t.Errorf("%s selects %v, want %v", name, selected, want)
		}
	}
	c := o.server.Spec.Template.Spec.Containers[0]
	for path, p := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if p == nil || p.HTTPGet.Path != path || p.HTTPGet.Port.StrVal != c.Ports[0].Name || len(p.HTTPGet.HTTPHeaders) != 1 || p.HTTPGet.HTTPHeaders[0] != (corev1.HTTPHeader{Name: "Host", Value: "sayso.example.org"}) {
			t.Errorf("the probe of %s is %+v", path, p)
		}
	}
	if o.service.Spec.Ports[0].TargetPort.StrVal != c.Ports[0].Name {
		t.Errorf("the service leads to %+v", o.service.Spec.Ports)
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values map[string]any
		kinds  int
	}{
		"as it is":   {nil, 8},
		"everything": {everything, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := decode(t, render(t, c.values))
			if len(o.kinds) != c.kinds {
				t.Errorf("it has %v", o.kinds)
			}
			o.check(t)
			if (o.template != nil) != (c.values != nil) {
				t.Fatalf("it has the template of sessions: %t", o.template != nil)
			}
			if o.template == nil {
				return
			}
			if o.pool.Spec.SandboxTemplateRef.Name != o.template.Name || *o.pool.Spec.Replicas != 0 || o.template.Spec.EnvVarsInjectionPolicy != "Allowed" || o.template.Spec.NetworkPolicyManagement != "Unmanaged" {
				t.Errorf("%+v does not fit %+v", o.pool, o.template.Spec)
			}
		})
	}
}

// TestMistakesAreFound checks that strict decoding finds mistakes in the documents of the chart.
func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	text := render(t, everything)
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, change := range [][2]string{{"terminationGracePeriodSeconds: 30", "terminationGracePeriod: 30"}, {"replicas: 2", "replicas: two"}} {
		wrong := 0
		for document := range strings.SplitSeq(strings.ReplaceAll(text, change[0], change[1]), "\n---\n") {
			if strings.Contains(document, "x-k8s.io") {
				if yaml.UnmarshalStrict([]byte(document), &sandboxTemplate{}) != nil && strings.Contains(document, "kind: SandboxTemplate") {
					wrong++
				}
			} else if _, _, err := decoder.Decode([]byte(document), nil, nil); err != nil {
				wrong++
			}
		}
		if wrong == 0 {
			t.Errorf("%s is not found", change[1])
		}
	}
}

// TestManifests checks that the plain manifests match the chart with its default values and the
// sandbox enabled.
func TestManifests(t *testing.T) {
	t.Parallel()
	const path = "manifests/sayso.yaml"
	want := "# The chart with its values as they are. Written by: go -C contrib/kubernetes test -run Manifests -update\n" + render(t, map[string]any{"sandbox": map[string]any{"enabled": true}})
	want = strings.ReplaceAll(want, "managed-by: Helm", "managed-by: kubectl")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not that of the chart: %v; run: go -C contrib/kubernetes test -run Manifests -update", path, err)
	}
}

// TestSessionPod checks that session-pod gives the token to the pod and does not print it.
func TestSessionPod(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	kubectl := `#!/bin/sh
echo "$*" >> "$FOLDER/calls"
case $1 in
exec) echo "sr_secret" ;;
create) cat > "$FOLDER/claim" && echo created ;;
esac
`
	if err := os.WriteFile(filepath.Join(folder, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(name string) (string, error) {
		cmd := exec.Command("./session-pod", name)
		cmd.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH"), "FOLDER=" + folder}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if said, err := run("fix-42"); err != nil || strings.Contains(said, "sr_secret") {
		t.Fatalf("%v: %s", err, said)
	}
	claim, err := os.ReadFile(filepath.Join(folder, "claim"))
	if err != nil {
		t.Fatal(err)
	}
	var c sandboxClaim
	strictly(t, string(claim), &c)
	o := decode(t, render(t, everything))
	if c.Name != "fix-42" || c.Spec.WarmPoolRef.Name != o.pool.Name || len(c.Spec.Env) != 1 || c.Spec.Env[0].Name != "RUNNER_TOKEN" || c.Spec.Env[0].Value != "sr_secret" {
		t.Errorf("the claim is %s", claim)
	}
	calls, err := os.ReadFile(filepath.Join(folder, "calls"))
	if want := "exec deployment/sayso-server --container sayso -- sayso token --runner fix-42\ncreate --filename -\n"; err != nil || string(calls) != want {
		t.Errorf("it called %s", calls)
	}
	if said, err := run("a; b"); err == nil || !strings.Contains(said, "no name for a pod") {
		t.Errorf("%v: %s", err, said)
	}
	// The pod removes the token from its environment before it starts another program.
	script := o.template.Spec.PodTemplate.Spec.Containers[0].Args[0]
	script = strings.ReplaceAll(strings.ReplaceAll(script, "/usr/lib/sayso/entrypoint", "env; echo"), "/tmp/token", folder+"/token")
	cmd := exec.Command("sh", "-c", strings.Replace(script, "exec env; echo", "env; echo", 1))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TOKEN=sr_secret"}
	out, err := cmd.CombinedOutput()
	token, readErr := os.ReadFile(folder + "/token")
	if err != nil || readErr != nil || string(token) != "sr_secret\n" || bytes.Contains(out, []byte("sr_secret")) || !bytes.Contains(out, []byte("runner --token-file="+folder+"/token")) {
		t.Errorf("%v, %v: %s; the token is %q", err, readErr, out, token)
	}
	if info, err := os.Stat(folder + "/token"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the token: %v", err)
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	load := func(environment types.Mapping) (*types.Project, error) {
		return loader.LoadWithContext(context.Background(), types.ConfigDetails{
			WorkingDir: "../compose", ConfigFiles: []types.ConfigFile{{Filename: "../compose/compose.yaml"}}, Environment: environment,
		}, func(o *loader.Options) { o.SetProjectName("sayso", true) })
	}
	if _, err := load(nil); err == nil || !strings.Contains(err.Error(), "POSTGRES_PASSWORD") {
		t.Errorf("without a password: %v", err)
	}
	p, err := load(types.Mapping{"POSTGRES_PASSWORD": "p"})
	if err != nil {
		t.Fatal(err)
	}
	if names := p.ServiceNames(); !slices.Equal(names, []string{"postgres", "runner-1", "runner-2", "server"}) {
		t.Errorf("it has %v", names)
	}
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is reachable from elsewhere: %+v", name, port)
			}
		}
		if name != "postgres" && (!s.ReadOnly || s.Init == nil || !*s.Init || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.NetworkMode != "host") {
			t.Errorf("%s is %+v", name, s)
		}
		for _, secret := range s.Secrets {
			if _, ok := p.Secrets[secret.Source]; !ok || !slices.Contains(s.Command, "--token-file=/run/secrets/"+secret.Source) {
				t.Errorf("%s has the secret %s and runs %v", name, secret.Source, s.Command)
			}
		}
	}
	database := p.Services["server"].Environment["SAYSO_DATABASE"]
	if want := "postgres://sayso:p@127.0.0.1:5433/sayso?sslmode=disable"; database == nil || *database != want || p.Services["postgres"].Ports[0].Published != "5433" {
		t.Errorf("the server uses %v", database)
	}
}
