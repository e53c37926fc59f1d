import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** A policy without the comment that begins it. */
async function policy(path: string): Promise<string> {
  const text = await readFile(
    fileURLToPath(new URL(`../../infra/admission/${path}`, import.meta.url)),
    "utf8",
  );
  return text.replace(/^(#.*\n)+/, "");
}

/** Lines of a variant that are not those of the policy whose place it takes, and the other way round. */
async function differences(variant: string, base: string): Promise<readonly string[]> {
  const [ofVariant, ofBase] = [(await policy(variant)).split("\n"), (await policy(base)).split("\n")];
  const without = (lines: readonly string[], others: readonly string[]) =>
    lines.filter((line) => !others.includes(line)).map((line) => line.trim());
  return [...without(ofVariant, ofBase), ...without(ofBase, ofVariant).map((line) => `not: ${line}`)];
}

const OF_SERVICE = "'serverless-ccm-service': ['UPDATE services/status', 'CREATE events'],";

test("where keepalived has the addresses, the service function writes their ConfigMap and all else is as it is", async () => {
  expect(await differences("keepalived/identities.yaml", "identities.yaml")).toEqual([
    "'serverless-ccm-service': ['UPDATE services/status', 'CREATE events', 'UPDATE configmaps'],",
    "'leases': 'kube-system/serverless-ccm-relay',",
    "'configmaps': variables.identity == 'serverless-ccm-service' ? 'kube-system/vip-configmap' : 'kube-system/serverless-ccm'",
    `not: ${OF_SERVICE}`,
    "not: {'leases': 'kube-system/serverless-ccm-relay', 'configmaps': 'kube-system/serverless-ccm'}",
  ]);
});

test("where kube-vip has them, the service function writes Services and all else is as it is", async () => {
  expect(await differences("kubevip/identities.yaml", "identities.yaml")).toEqual([
    "'serverless-ccm-service': ['UPDATE services', 'UPDATE services/status', 'CREATE events'],",
    `not: ${OF_SERVICE}`,
  ]);
});
