import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** Returns a policy without its leading comment. */
async function policy(path: string): Promise<string> {
  const text = await readFile(
    fileURLToPath(new URL(`../../infra/admission/${path}`, import.meta.url)),
    "utf8",
  );
  return text.replace(/^(#.*\n)+/, "");
}

/** Returns the lines that are in only one of a variant and the policy that it replaces. */
async function differences(variant: string, base: string): Promise<readonly string[]> {
  const [ofVariant, ofBase] = [(await policy(variant)).split("\n"), (await policy(base)).split("\n")];
  const without = (lines: readonly string[], others: readonly string[]) =>
    lines.filter((line) => !others.includes(line)).map((line) => line.trim());
  return [...without(ofVariant, ofBase), ...without(ofBase, ofVariant).map((line) => `not: ${line}`)];
}

const OF_SERVICE = "'serverless-ccm-service': ['UPDATE services/status', 'CREATE events'],";

test("with keepalived, the service function also writes its ConfigMap, and nothing else changes", async () => {
  expect(await differences("keepalived/identities.yaml", "identities.yaml")).toEqual([
    "'serverless-ccm-service': ['UPDATE services/status', 'CREATE events', 'UPDATE configmaps'],",
    "'leases': 'kube-system/serverless-ccm-relay',",
    "'configmaps': variables.identity == 'serverless-ccm-service' ? 'kube-system/vip-configmap' : 'kube-system/serverless-ccm'",
    `not: ${OF_SERVICE}`,
    "not: {'leases': 'kube-system/serverless-ccm-relay', 'configmaps': 'kube-system/serverless-ccm'}",
  ]);
});

test("with kube-vip, the service function also writes Services, and nothing else changes", async () => {
  expect(await differences("kubevip/identities.yaml", "identities.yaml")).toEqual([
    "'serverless-ccm-service': ['UPDATE services', 'UPDATE services/status', 'CREATE events'],",
    `not: ${OF_SERVICE}`,
  ]);
});

test("with a cloud that gives IP addresses, they are also accepted, and nothing else changes", async () => {
  const [ofVariant, ofBase] = [
    "hostnames and IP addresses of load balancers, and nothing else of them",
    "hostnames of load balancers, and no IP address; where the cloud gives Services IP addresses, apply infra/admission/addresses/ after infra/admission/",
  ].map((what) => `the service function writes ${what}`);
  expect(await differences("addresses/ingress.yaml", "ingress.yaml")).toEqual([
    `expression: "['hostname', 'ip', 'ipMode']"`,
    ofVariant,
    `not: expression: "['hostname']"`,
    `not: ${ofBase}`,
  ]);
});

/** Each has a replacement for kube-vip. */
const REPLACED_FOR_KUBE_VIP = [
  "['serverless-ccm.io/load-balancer', 'kubernetes.digitalocean.com/load-balancer-id',",
  "'service.beta.kubernetes.io/do-loadbalancer-type', 'service.beta.kubernetes.io/do-loadbalancer-certificate-id']",
  "variables.changedMetadata.filter(key, !(key in ['finalizers', 'annotations', 'managedFields', 'resourceVersion', 'generation']))",
  ...[
    "no annotation but serverless-ccm.io/load-balancer, and what load balancers are known by",
    "neither labels nor owners",
  ].flatMap((what) => [
    `message: the service function writes ${what}`,
    `messageExpression: "'the service function writes ${what}: ' + variables.${what.startsWith("no ") ? "foreignAnnotations" : "foreignMetadata"}.join(', ')"`,
  ]),
  `- expression: "!variables.updates || object.spec == oldObject.spec"`,
  "message: the service function writes nothing of the spec",
];

test("with kube-vip, its Service fields are also writable, and no other rule is missing", async () => {
  const removed = (await differences("kubevip/service.yaml", "service.yaml")).filter((line) =>
    line.startsWith("not:"),
  );
  expect(removed.map((line) => line.replace(/^not:\s+/, ""))).toEqual(REPLACED_FOR_KUBE_VIP);
});
