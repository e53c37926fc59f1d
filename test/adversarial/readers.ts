import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { parseProviderID as parseAws } from "#clouds/aws/provider-id.ts";
import { parseProviderID as parseDigitalOcean } from "#clouds/digitalocean/droplet.ts";
import { parseProviderID as parseHcloud } from "#clouds/hcloud/server.ts";
import { parseProviderID as parseOci } from "#clouds/oci/query.ts";
import { parseProviderID as parseOpenStack } from "#clouds/openstack/server.ts";
import { LOAD_BALANCER_MODELS } from "#clouds/providers.ts";
import { createAddressJudge } from "#config/address-rules.ts";
import { Cluster } from "#config/cluster.ts";
import { parseKubeconfig } from "#config/registry/kubernetes/administrator-kubeconfig.ts";
import { canonicalizeCidr, canonicalizeIp } from "#core/cidr.ts";
import { LOAD_BALANCER_ANNOTATION, SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { parseCertificateRequest } from "#functions/parts/csr-controller.ts";
import { buildMinimalConfig } from "#test/clouds/worlds.ts";
import { listAnnotations } from "./annotations.ts";
import { CERTIFICATE_BOMBS } from "./certificate-bombs.ts";
import { LONG_TEXTS, SOME_LONG_TEXTS } from "./long-texts.ts";

/** A reader of a tenant's text, and its input texts; it must not throw. */
export interface Reader {
  readonly name: string;
  readonly texts: readonly string[];
  read(text: string): unknown;
}

/** The mode with load balancers of a cloud whose minimal configuration has none. */
const MODES: Readonly<Record<string, object>> = {
  rancher: { mode: "cattle", cattle: { url: "https://rancher.example/v2-beta" } },
};

/** Annotations that choose a kind of load balancer. */
const KINDS: readonly Readonly<Record<string, string>>[] = [
  {},
  {
    "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
    "oci.oraclecloud.com/load-balancer-type": "nlb",
  },
];

const annotatedService = (annotations: Readonly<Record<string, string>>, spec: object = {}): Service =>
  Service.parse({
    metadata: {
      ...{ namespace: "default", name: "web", uid: "00000001-0000-4000-8000-000000000000" },
      ...{ resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", annotations },
    },
    spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080 }], ...spec },
  });

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server } }],
    users: [{ name: "a", user: { token: "a" } }],
  });

const judge = createAddressJudge({ trustsEntries: false, networks: ["10.0.0.0/8"] });

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "a provider ID of AWS": parseAws,
  "a provider ID of DigitalOcean": parseDigitalOcean,
  "a provider ID of Hetzner Cloud": parseHcloud,
  "a provider ID of OCI": parseOci,
  "a provider ID of OpenStack": (text) => parseOpenStack(text, "RegionOne"),
  "a network": canonicalizeCidr,
  "an IP address": canonicalizeIp,
  "an address that is judged": judge,
  "source ranges of a spec": (text) =>
    readSourceRanges(annotatedService({}, { loadBalancerSourceRanges: [text] })),
  "source ranges of an annotation": (text) =>
    readSourceRanges(annotatedService({ [SOURCE_RANGES_ANNOTATION]: text })),
  "a text that is shown": sanitizeText,
};

/** Slower readers, which parse YAML. */
const YAML_READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "a kubeconfig": parseKubeconfig,
  "the server of a kubeconfig": (text) => parseKubeconfig(kubeconfigOf(`https://a.example/${text}`)),
};

/** Returns the readers of a Service in the models of all clouds with load balancers. */
async function modelReaders(): Promise<readonly Reader[]> {
  const clouds = Object.entries(LOAD_BALANCER_MODELS).map(async ([provider, load]) => {
    const model = await load();
    const { cloud } = Cluster.parse({
      ...{ name: "a", server: "https://a.example" },
      cloud: MODES[provider] === undefined ? buildMinimalConfig(provider) : { provider, ...MODES[provider] },
    });
    const settings = { ...DEFAULT_SETTINGS, cloud };
    const readAll = (annotations: Readonly<Record<string, string>>) => {
      for (const kind of KINDS) {
        const service = annotatedService({ ...kind, ...annotations });
        model.precheck({ service, wanted: true, nodes: [] }, settings);
        model.describeDesired(service, settings);
      }
    };
    const names = [...listAnnotations(provider), LOAD_BALANCER_ANNOTATION];
    return [
      ...names.map((name) => ({
        name: `the annotation ${name} on ${provider}`,
        texts: SOME_LONG_TEXTS,
        read: (text: string) => readAll({ [name]: text }),
      })),
      {
        name: `ten thousand unknown annotations on ${provider}`,
        texts: [names[0] ?? "a"],
        read: (text: string) =>
          readAll(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`${text}${index}`, "a"]))),
      },
    ];
  });
  return (await Promise.all(clouds)).flat();
}

/** Returns all readers of tenants' texts, always in the same order. */
export async function listReaders(): Promise<readonly Reader[]> {
  return [
    ...Object.entries(READERS).map(([name, read]) => ({ name, texts: LONG_TEXTS, read })),
    ...Object.entries(YAML_READERS).map(([name, read]) => ({ name, texts: SOME_LONG_TEXTS, read })),
    ...Object.entries(CERTIFICATE_BOMBS).map(([name, text]) => ({
      name: `a certificate request of ${name}`,
      texts: [text],
      read: parseCertificateRequest,
    })),
    ...(await modelReaders()),
  ];
}

if (!isMainThread && typeof workerData === "number")
  for (const { texts, read } of (await listReaders()).slice(workerData)) {
    let message: string | undefined;
    for (const text of texts) {
      try {
        read(text);
      } catch (error) {
        message ??= `throws ${getErrorMessage(error)}`;
      }
    }
    parentPort?.postMessage(message);
  }
