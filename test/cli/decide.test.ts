import { readFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { decide } from "#cli/decide.ts";

const example = JSON.parse(
  await readFile(new URL("../../docs/examples/service.json", import.meta.url), "utf8"),
);

describe("decide on the documented example of a Service", () => {
  test("claims the Service, then creates its network load balancer from the observed cloud", async () => {
    const [decision] = await decided(example);
    expect(decision).toMatchObject({
      kind: "change",
      object: { kind: "Service", namespace: "shop", name: "web" },
      because: { code: "Creating" },
      writes: [
        { on: "cluster", subresource: "status" },
        { action: "elbv2:CreateLoadBalancer", parameters: { Scheme: "internal" } },
        { action: "elbv2:CreateTargetGroup" },
        // Its own rules, and the rule that it shares.
        { action: "ec2:AuthorizeSecurityGroupIngress", target: "sg-0c0c0c0c0c0c0c0c0" },
        { action: "ec2:AuthorizeSecurityGroupIngress", target: "sg-0c0c0c0c0c0c0c0c0" },
      ],
    });
  });

  test.each([
    [
      "where AWS did not answer",
      { answers: [{ kind: "error", code: "Throttled", message: "" }] },
      "Throttled",
    ],
    ["before AWS is asked", { answers: undefined }, "Unavailable"],
    [
      "with no place left",
      { settings: { ...example.settings, loadBalancers: { max: 0 } } },
      "LoadBalancerLimit",
    ],
    ["on a cloud without a model", { settings: { cloud: { provider: "no-cloud" } } }, "NotSupported"],
  ])("%s it writes nothing", async (_given, difference, code) => {
    expect(await decided({ ...example, ...difference })).toMatchObject([{ because: { code } }]);
  });

  test("answers of another cloud are rejected with their location", async () => {
    const cloud = { provider: "digitalocean", region: "fra1", dropletTag: "k8s" };
    const refused = await decided({ ...example, settings: { cloud } }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigurationError);
    expect((refused as Error).message).toMatch(/answers: are not such as the cloud "digitalocean" gives/);
  });

  test.each<[string, object, string]>([
    ["an unknown key", { ...example.settings.cloud, regoin: "x" }, "settings.cloud."],
    ["no VPC and no tag", { provider: "aws", region: "eu-central-1" }, "settings.cloud.vpc"],
    ["another provider", { provider: "azure" }, "settings.cloud.provider"],
  ])("a cloud with %s is rejected with its location", async (_given, cloud, name) => {
    const refused = await decided({ ...example, settings: { cloud } }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigurationError);
    expect((refused as Error).message).toContain(name);
  });
});

async function decided(document: unknown): Promise<unknown[]> {
  let written = "";
  const output = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  await decide(Readable.from([Buffer.from(JSON.stringify(document))]), output);
  return written
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
