import { expect, test } from "vitest";
import { parseObservedInstance } from "#core/node-lifecycle/identity.ts";
import { buildNode } from "#test/core/node/builders.ts";

const ID = "ocid1.instance.oc1.phx.a";

test.each<[string, string | undefined, string | undefined, boolean]>([
  ["behind a scheme", `acct/net/${ID}`, `oci://${ID}`, true],
  ["behind a place", `acct/net/${ID}`, `aws:///eu-central-1a/${ID}`, true],
  ["bare, as some kubelets write it", `acct/net/${ID}`, ID, true],
  ["in a network with slashes", `acct/a/b/${ID}`, `oci://${ID}`, true],
  ["as the end of another one", `acct/net/${ID}`, `oci://x${ID}`, false],
  ["bare, as the end of another one", `acct/net/${ID}`, `x${ID}`, false],
  ["by no provider ID", `acct/net/${ID}`, undefined, false],
  ["by no annotation", undefined, `oci://${ID}`, false],
  ["by an annotation without network", `acct/${ID}`, ID, false],
  ["by nothing at all", "acct/net/", "", false],
])("an instance that is named %s", (_, annotation, providerID, isSeen) => {
  const annotations = annotation === undefined ? {} : { "serverless-ccm.io/instance": annotation };
  const subject = buildNode({
    metadata: { annotations },
    spec: providerID === undefined ? {} : { providerID },
  });
  const network = annotation?.slice("acct/".length, -`/${ID}`.length);
  expect(parseObservedInstance(subject)).toEqual(isSeen ? { account: "acct", network, id: ID } : undefined);
});
