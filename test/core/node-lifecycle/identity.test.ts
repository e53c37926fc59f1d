import { expect, test } from "vitest";
import { parseObservedInstance } from "#core/node-lifecycle/location.ts";
import { buildNode } from "#test/core/node/builders.ts";

const ID = "ocid1.instance.oc1.phx.a";

test.each<[string, string | undefined, string | undefined, boolean]>([
  ["a provider ID with a scheme", `acct/net/${ID}`, `oci://${ID}`, true],
  ["a provider ID with a scheme and a zone", `acct/net/${ID}`, `aws:///eu-central-1a/${ID}`, true],
  ["a provider ID that is the instance ID", `acct/net/${ID}`, ID, true],
  ["a network with slashes", `acct/a/b/${ID}`, `oci://${ID}`, true],
  ["a provider ID that only ends with the instance ID", `acct/net/${ID}`, `oci://x${ID}`, false],
  ["a bare provider ID that only ends with the instance ID", `acct/net/${ID}`, `x${ID}`, false],
  ["no provider ID", `acct/net/${ID}`, undefined, false],
  ["no annotation", undefined, `oci://${ID}`, false],
  ["an annotation without a network", `acct/${ID}`, ID, false],
  ["an annotation without an instance ID, and no provider ID", "acct/net/", "", false],
])("the observed instance of a node with %s", (_, annotation, providerID, isSeen) => {
  const annotations = annotation === undefined ? {} : { "serverless-ccm.io/instance": annotation };
  const subject = buildNode({
    metadata: { annotations },
    spec: providerID === undefined ? {} : { providerID },
  });
  const network = annotation?.slice("acct/".length, -`/${ID}`.length);
  expect(parseObservedInstance(subject)).toEqual(isSeen ? { account: "acct", network, id: ID } : undefined);
});
