import { differenceOf, PORTS, plainService, port, withoutTraits } from "#test/clouds/plain-service.ts";
import type { Operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

/** What not every cloud has. */
export interface TableTraits {
  /** Settings that are changed in place (`otherSettings` of its world). */
  readonly hasSettings: boolean;
}

/** What is done on every cloud, by what its world says of Services. */
export function operationsOf({ hasSettings }: TableTraits): readonly Operation[] {
  return [...COMMON, ...(hasSettings ? SETTINGS : [])];
}

const before = ({ world }: Stage): readonly object[] => [plainService(world)];
const create = ({ objects, world }: Stage) => objects.create(plainService(world));
const remove = ({ objects }: Stage) => objects.delete();
const CLUSTER_IP = { spec: { type: "ClusterIP" } };
/** Ports of nodes are given away with the type, and would be others. */
const LOAD_BALANCER = { spec: { type: "LoadBalancer", ports: PORTS } };
const THREE = ["web", "api", "mail"];
const three = ({ world }: Stage): readonly object[] => THREE.map((name) => plainService(world, { name }));

const COMMON: readonly Operation[] = [
  { name: "create", change: create },
  { name: "create, and deleted meanwhile", change: create, meanwhile: remove },
  {
    name: "other ports",
    before,
    change: ({ objects }) =>
      objects.merge({ spec: { ports: [port("http", 80, 30_081), port("more", 8080, 30_808)] } }),
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
    change: ({ objects, world }) => objects.merge(differenceOf(world.otherSettings ?? {})),
  },
  {
    name: "settings taken away",
    before: ({ world }) => [plainService(world, world.otherSettings)],
    change: ({ objects, world }) => objects.merge(withoutTraits(world.otherSettings ?? {})),
  },
];
