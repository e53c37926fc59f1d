import {
  buildPort,
  buildService,
  buildTraitsPatch,
  buildTraitsRemoval,
  PORTS,
} from "#test/clouds/service-builders.ts";
import type { Operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

/** Features that only some clouds have. */
export interface TableTraits {
  /** Settings that can be changed in place (`otherSettings` of the cloud's world). */
  readonly hasSettings: boolean;
}

/** Returns the operations for every cloud, built from the Services of its world. */
export function listOperations({ hasSettings }: TableTraits): readonly Operation[] {
  return [...COMMON, ...(hasSettings ? SETTINGS : [])];
}

const before = ({ world }: Stage): readonly object[] => [buildService(world)];
const create = ({ objects, world }: Stage) => objects.create(buildService(world));
const remove = ({ objects }: Stage) => objects.delete();
const CLUSTER_IP = { spec: { type: "ClusterIP" } };
/** Kubernetes allocates node ports with the type and would choose others. */
const LOAD_BALANCER = { spec: { type: "LoadBalancer", ports: PORTS } };
const THREE = ["web", "api", "mail"];
const three = ({ world }: Stage): readonly object[] => THREE.map((name) => buildService(world, { name }));

const COMMON: readonly Operation[] = [
  { name: "create", change: create },
  { name: "create, and deleted meanwhile", change: create, meanwhile: remove },
  {
    name: "other ports",
    before,
    change: ({ objects }) =>
      objects.merge({ spec: { ports: [buildPort("http", 80, 30_081), buildPort("more", 8080, 30_808)] } }),
  },
  {
    name: "a node joins",
    before,
    change: ({ objects, world }) => objects.setNodes(world.nodes.slice(0, 3)),
  },
  {
    name: "other nodes",
    before,
    change: ({ objects, world }) => objects.setNodes(world.nodes.slice(1, 3)),
  },
  { name: "all nodes leave", before, change: ({ objects }) => objects.setNodes([]) },
  { name: "type ClusterIP", before, change: ({ objects }) => objects.merge(CLUSTER_IP) },
  {
    name: "type to and fro",
    before,
    async change({ objects, invoke }) {
      await objects.merge(CLUSTER_IP);
      await invoke();
      await objects.merge(LOAD_BALANCER);
    },
  },
  {
    name: "type ClusterIP, and back meanwhile",
    before,
    change: ({ objects }) => objects.merge(CLUSTER_IP),
    meanwhile: ({ objects }) => objects.merge(LOAD_BALANCER),
  },
  { name: "delete", before, change: remove },
  {
    name: "three Services: create",
    names: THREE,
    async change(stage) {
      for (const service of three(stage)) await stage.objects.create(service);
    },
  },
  {
    name: "three Services: delete",
    names: THREE,
    before: three,
    async change({ objects }) {
      for (const name of THREE) await objects.named(name).delete();
    },
  },
];

const SETTINGS: readonly Operation[] = [
  {
    name: "other settings",
    before,
    change: ({ objects, world }) => objects.merge(buildTraitsPatch(world.otherSettings ?? {})),
  },
  {
    name: "settings taken away",
    before: ({ world }) => [buildService(world, world.otherSettings)],
    change: ({ objects, world }) => objects.merge(buildTraitsRemoval(world.otherSettings ?? {})),
  },
];
