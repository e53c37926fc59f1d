import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { ADDED_TAGS } from "#clouds/aws/load-balancers/tags.ts";
import * as classic from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import * as network from "#test/clouds/aws/load-balancers/network/world.ts";

const SUFFIX = "additional-resource-tags";

/** Keys by which controllers and AWS recognize their resources. */
const RESERVED = [
  "elbv2.k8s.aws/cluster",
  "ingress.k8s.aws/stack",
  "service.k8s.aws/resource",
  "gateway.k8s.aws.nlb/stack",
  "karpenter.k8s.aws/ec2nodeclass",
  "karpenter.sh/discovery",
  "k8s.io/cluster-autoscaler/enabled",
  "sigs.k8s.io/cluster-api-provider-aws/cluster/prod",
  "kubernetes.io/cluster/other",
  "Kubernetes.IO/service-name",
  "kops.k8s.io/instancegroup",
  "node.k8s.amazonaws.com/instance_id",
  "eks.amazonaws.com/nodegroup",
  "ebs.csi.aws.com/cluster",
  "alpha.eksctl.io/cluster-name",
  "eks:cluster-name",
  "AWS:cloudformation:stack-name",
  "KubernetesCluster",
  "serverless-ccm.io/additional-tags",
];

/** Users' own keys, and some that only look like reserved ones. */
const ORDINARY = [
  "Environment",
  "cost-centre",
  "team:owner",
  "example.com/team",
  "kubernetes.io.example.com/x",
  "notk8s.io/x",
  "k8s.aws.example.com/x",
  "karpenter",
  "eks-team",
  "my/k8s.io/path",
];

interface World {
  settle(written: string, allow?: Readonly<Record<string, unknown>>): { readonly kind: string };
  tags(): readonly Readonly<Record<string, string>>[];
  tag(given: Readonly<Record<string, string>>): void;
}

const WORLDS: readonly (readonly [string, () => World])[] = [
  [
    "network",
    () => {
      const aws = network.createNetworkWorld();
      const all = () => [...aws.balancers.values(), ...aws.groups.values(), ...aws.listeners.values()];
      return {
        settle: (written, allow) =>
          network.converge(
            aws,
            network.buildQuestion(network.buildService({}, written === "" ? {} : { [SUFFIX]: written })),
            network.buildSettings(allow === undefined ? {} : { allow: parsed(allow) }),
          ),
        tags: () => all().map(({ tags }) => tags),
        tag: (given) => {
          for (const each of all()) each.tags = { ...each.tags, ...given };
        },
      };
    },
  ],
  [
    "classic",
    () => {
      const elb = classic.createClassicWorld();
      return {
        settle: (written, allow) =>
          classic.converge(
            elb,
            classic.buildQuestion({
              annotations: classic.buildAnnotations(written === "" ? {} : { [SUFFIX]: written }),
            }),
            { settings: classic.buildSettings(allow === undefined ? {} : { allow: parsed(allow) }) },
          ),
        tags: () => [...elb.classics.values()].map(({ tags }) => tags),
        tag: (given) => {
          for (const [name, state] of elb.classics)
            elb.classics.set(name, { ...state, tags: { ...state.tags, ...given } });
        },
      };
    },
  ],
];

const BASE = { provider: "aws", region: "eu-central-1", clusterTag: "prod" };
function parsed(allow: Readonly<Record<string, unknown>>) {
  return AwsCloudConfig.parse({ ...BASE, allow }).allow;
}
const markOf = (key: string): string => createHash("sha1").update(key).digest("hex").slice(0, 6);
const warning = (value: string) => ({
  kind: "settled",
  warnings: [{ code: "ReservedTag", field: `${network.PREFIX}${SUFFIX}`, value }],
});

describe.each(WORLDS)("additional-resource-tags of a %s load balancer", (_, start) => {
  test.each(RESERVED)("never set %s; the other tags are set, and a Warning names the key", (key) => {
    const world = start();
    expect(world.settle(`team=web,${key}=victim`)).toMatchObject(warning(key));
    expect(world.tags().length).toBeGreaterThan(0);
    for (const tags of world.tags()) {
      expect(tags).toMatchObject({ team: "web", [ADDED_TAGS]: markOf("team") });
      expect(Object.values(tags)).not.toContain("victim");
    }
  });

  test.each(ORDINARY)("set %s, without a Warning", (key) => {
    const world = start();
    expect(world.settle(`${key}=x`)).toMatchObject({ kind: "settled", warnings: [] });
    for (const tags of world.tags()) expect(tags).toMatchObject({ [key]: "x" });
  });

  test("of an earlier version stay with their values, for any new annotation", () => {
    const world = start();
    const keys = ["elbv2.k8s.aws/cluster", "karpenter.sh/discovery"];
    world.settle("team=web");
    const marks = [...keys, "team"].map(markOf).toSorted().join("");
    world.tag({ ...Object.fromEntries(keys.map((key) => [key, "victim"])), [ADDED_TAGS]: marks });
    for (const written of [keys.map((key) => `${key}=other`).join(), "", "team=web"]) {
      world.settle(written);
      for (const tags of world.tags())
        for (const key of keys) expect([written, key, tags[key]]).toEqual([written, key, "victim"]);
    }
  });

  test("set what the operator lists, and nothing else", () => {
    const world = start();
    const allow = { tagKeys: ["Environment", "team:*", "karpenter.sh/*"] };
    expect(world.settle("Environment=a,team:owner=b,karpenter.sh/discovery=c", allow)).toMatchObject({
      warnings: [],
    });
    for (const key of ["Environments", "environment", "team", "elbv2.k8s.aws/cluster", "aws:x"]) {
      expect(world.settle(`Environment=a,${key}=b`, allow)).toMatchObject(warning(key));
      for (const tags of world.tags()) {
        expect(tags).toMatchObject({ Environment: "a" });
        expect(tags).not.toHaveProperty([key]);
      }
    }
  });

  test("set no key of a controller because of a pattern with the same beginning", () => {
    const world = start();
    expect(world.settle("karpenter.sh/discovery=x,a=b", { tagKeys: ["*", "karp*"] })).toMatchObject(
      warning("karpenter.sh/discovery"),
    );
    for (const tags of world.tags()) expect(tags).toMatchObject({ a: "b" });
  });

  test("set no key if the operator lists none", () => {
    const world = start();
    expect(world.settle("a=b", { tagKeys: [] })).toMatchObject(warning("a"));
    for (const tags of world.tags()) expect(tags).not.toHaveProperty("a");
  });
});

test.each(["kubernetes.io/cluster/*", "KubernetesCluster", "aws:x", "serverless-ccm.io/*"])(
  "the operator cannot list %s: it marks ownership",
  (key) => {
    const read = AwsCloudConfig.safeParse({ ...BASE, allow: { tagKeys: ["Environment", key] } });
    expect(read.error?.issues).toMatchObject([
      { path: ["allow", "tagKeys", 1], message: expect.stringContaining("no annotation may set") },
    ]);
  },
);
