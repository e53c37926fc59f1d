package bridge

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServeClient serves the API server of a client, with the client's own sign-in: a test gives its controller only the
// client, and serverless-ccm needs a kubeconfig. The caller closes the server and removes the kubeconfig.
func ServeClient(client kubernetes.Interface) (server *httptest.Server, kubeconfig string, err error) {
	restClient, ok := client.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok || restClient == nil {
		return nil, "", fmt.Errorf("the client reaches no API server: %T", client.CoreV1().RESTClient())
	}
	base := restClient.Get().URL()
	proxy := &httputil.ReverseProxy{
		Transport: restClient.Client.Transport,
		// Watches send each event at once.
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = base.Scheme, base.Host, ""
			r.Out.Header.Del("Authorization")
		},
		// A watch ends with its client, which is no fault.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	server = httptest.NewUnstartedServer(proxy)
	// serverless-ccm watches over HTTP/2 alone.
	server.EnableHTTP2 = true
	server.StartTLS()
	kubeconfig, err = writeKubeconfig(server)
	if err != nil {
		server.Close()
		return nil, "", err
	}
	return server, kubeconfig, nil
}

func writeKubeconfig(server *httptest.Server) (string, error) {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: authority}
	// The proxy replaces it by the client's own sign-in.
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: "unused"}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	file, err := os.CreateTemp("", "upstream-kubeconfig-")
	if err != nil {
		return "", err
	}
	_ = file.Close()
	return file.Name(), clientcmd.WriteToFile(*config, file.Name())
}
