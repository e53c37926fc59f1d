import { Cluster } from "#config/cluster.ts";
import { LOAD_BALANCER_ANNOTATION, TAGS_LABEL } from "#core/contracts.ts";
import type { Controller } from "#core/controller.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import { routeController } from "#core/route/controller.ts";
import { NETWORK_UNAVAILABLE } from "#core/route/related-node.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { taggingController } from "#test/functions/tagging/controller.ts";
import {
  CLUSTER_TAG,
  createClassicModelCloud,
  createNetworkModelCloud,
  NETWORK_ANNOTATIONS,
} from "./clouds/aws.ts";
import { createMemoryModelCloud } from "./clouds/memory.ts";
import { createRouteModelCloud } from "./clouds/routes.ts";
import { createTagModelCloud } from "./clouds/tags.ts";
import type { ClusterView } from "./cluster.ts";
import type { Scenario } from "./scenario.ts";

const SERVICE_WEIGHTS: Scenario["weights"] = {
  "create Service": 4,
  "edit Service": 5,
  "make ClusterIP": 1,
  "make LoadBalancer": 1,
  "drop annotation": 1,
  "delete Service": 1,
  "add node": 3,
  "remove node": 1,
  "exclude node": 1,
  "add foreign": 1,
  drift: 1,
  invoke: 16,
};

function serviceScenario(
  name: string,
  cloud: object,
  createCloud: Scenario["createCloud"],
  annotations: Scenario["annotations"] = {},
): Scenario {
  const controller = serviceController as unknown as Controller;
  return {
    ...{ name, controller, createCloud, annotations },
    cluster: Cluster.parse({
      name: "tenant-a",
      server: "https://127.0.0.1",
      cloud,
      controllers: [controller.name],
    }),
    signedInAs: "service",
    manifests: "rbac/service-lb-controller",
    weights: SERVICE_WEIGHTS,
    describe: describeServices,
  };
}

/**
 * Returns our parts of the Services: finalizers, addresses, and whether our annotation marks the state as
 * fully applied.
 */
function describeServices({ services }: ClusterView): string[] {
  return services
    .map(({ metadata, spec, status }) => {
      const mark = JSON.parse(metadata.annotations?.[LOAD_BALANCER_ANNOTATION] ?? "null");
      const { loadBalancer = {} } = (status ?? {}) as { loadBalancer?: { ingress?: readonly object[] } };
      return formatCanonicalJson({
        name: metadata.name,
        type: spec?.["type"],
        finalizers: metadata.finalizers ?? [],
        deleting: metadata.deletionTimestamp !== undefined,
        // The number that AWS adds to a name differs each time.
        ingress: JSON.stringify(loadBalancer.ingress ?? []).replaceAll(/-[0-9a-f]+\./g, "."),
        mark: mark?.state,
      });
    })
    .sort();
}

const NODE_WEIGHTS: Scenario["weights"] = {
  "add node": 6,
  "remove node": 4,
  "end machine": 1,
  "add foreign": 1,
  drift: 1,
  invoke: 14,
};

function routeScenario(): Scenario {
  const controller = routeController as unknown as Controller;
  return {
    ...{
      name: "routes",
      controller,
      createCloud: createRouteModelCloud,
      signedInAs: "route",
      hasLastingNode: true,
    },
    cluster: Cluster.parse({
      ...{ name: "tenant-a", server: "https://127.0.0.1", cloud: AWS, controllers: [controller.name] },
      routes: { clusterCIDRs: ["100.64.0.0/10"] },
    }),
    manifests: "rbac/node-route-controller",
    weights: NODE_WEIGHTS,
    describe: ({ nodes }) =>
      nodes
        .map(({ metadata: { name }, status }) => {
          const { conditions = [] } = (status ?? {}) as {
            conditions?: readonly { type: string; status: string }[];
          };
          return `${name} ${conditions.find(({ type }) => type === NETWORK_UNAVAILABLE)?.status}`;
        })
        .sort(),
  };
}

function taggingScenario(): Scenario {
  const controller = taggingController as unknown as Controller;
  return {
    ...{
      name: "tags",
      controller,
      createCloud: createTagModelCloud,
      signedInAs: "tagging",
      hasLastingNode: true,
      auditFindsLate: true,
    },
    cluster: Cluster.parse({
      ...{ name: "tenant-a", server: "https://127.0.0.1", cloud: AWS, controllers: [controller.name] },
      tagging: { tags: { team: "a" } },
    }),
    manifests: "rbac/tagging",
    weights: NODE_WEIGHTS,
    // The label of a node whose machine has ended depends on the timing.
    describe: ({ nodes }, { hasMachine }) =>
      nodes
        .filter(({ spec }) => hasMachine?.(String(spec?.["providerID"])) === true)
        .map(({ metadata: { name, labels = {} } }) => `${name} ${labels[TAGS_LABEL]}`)
        .sort(),
  };
}

const AWS = { provider: "aws", region: "eu-central-1", vpc: "vpc-1", clusterTag: CLUSTER_TAG };

/** The scenarios, by name. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = Object.fromEntries(
  [
    serviceScenario("memory", { provider: "memory", instancesFile: "none" }, createMemoryModelCloud),
    serviceScenario("network", AWS, createNetworkModelCloud, NETWORK_ANNOTATIONS),
    serviceScenario("classic", AWS, createClassicModelCloud),
    routeScenario(),
    taggingScenario(),
  ].map((scenario) => [scenario.name, scenario]),
);
