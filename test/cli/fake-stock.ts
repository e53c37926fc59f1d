import type { Instance } from "#core/instance.ts";
import { joiningNode } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";
import { ask } from "#test/ask.ts";

/** The field manager of the stock controller of AWS. */
export const STOCK = "aws-cloud-controller-manager";

/** How what is written differs from what the stock controller writes. */
export interface Quirks {
  /** Who writes; the stock controller without it. */
  readonly manager?: string;
  readonly zone?: string;
  /** The taint goes, and addresses never come. */
  readonly withoutAddresses?: boolean;
}

/** What the stock controller needs of an instance. */
export type StockInstance = Pick<Instance, "providerID" | "type" | "zone" | "region" | "addresses">;

/** An instance of the memory cloud by its number. */
export function instanceOf(number: number): Instance {
  return {
    id: `i-node-${number}`,
    account: "1",
    network: "network-1",
    state: "running",
    providerID: `memory:///zone-a/i-node-${number}`,
    type: "small",
    zone: "zone-a",
    region: "region-a",
    addresses: [{ type: "InternalIP", address: `10.0.0.${number}` }],
    labels: {},
  };
}

/** Registers the node of an instance, as its kubelet does. */
export async function register(admin: Transport, number: number): Promise<string> {
  const name = `node-${number}`;
  const body = joiningNode({ name, providerID: instanceOf(number).providerID });
  await ask(admin, { method: "POST", path: "/api/v1/nodes?fieldManager=kubelet", body });
  return name;
}

/**
 * Initializes a node as the stock controller does: the whole node with labels and without the taint first, then its addresses
 * by a strategic merge patch that replaces the list.
 */
export async function initializeAsStock(
  admin: Transport,
  name: string,
  instance: StockInstance,
  quirks: Quirks = {},
): Promise<void> {
  const manager = `fieldManager=${quirks.manager ?? STOCK}`;
  const node = JSON.parse((await ask(admin, { method: "GET", path: `/api/v1/nodes/${name}` })).body);
  const zone = quirks.zone ?? instance.zone;
  const values = {
    "beta.kubernetes.io/instance-type": instance.type,
    "node.kubernetes.io/instance-type": instance.type,
    "failure-domain.beta.kubernetes.io/zone": zone,
    "topology.kubernetes.io/zone": zone,
    "failure-domain.beta.kubernetes.io/region": instance.region,
    "topology.kubernetes.io/region": instance.region,
  };
  const { taints: _, ...spec } = node.spec;
  const metadata = { ...node.metadata, labels: { ...node.metadata.labels, ...values } };
  const whole = { ...node, metadata, spec: { ...spec, providerID: instance.providerID } };
  await ask(admin, { method: "PUT", path: `/api/v1/nodes/${name}?${manager}`, body: whole });
  if (quirks.withoutAddresses) return;
  const hostnames = node.status.addresses.filter(({ type }: { type: string }) => type === "Hostname");
  await ask(admin, {
    method: "PATCH",
    path: `/api/v1/nodes/${name}/status?${manager}`,
    contentType: "application/strategic-merge-patch+json",
    body: { status: { addresses: [...instance.addresses, ...hostnames, { $patch: "replace" }] } },
  });
}
