import * as z from "zod";
import type { Cloud, CloudCall, InstancesResult } from "#clouds/cloud.ts";
import type { InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";
import { type Node, NodeAddress } from "#core/node/node.ts";

const GoError = z.object({ error: z.string() });
const Texts = z.record(z.string(), z.string()).nullish();

/** The fields of `k8s.io/cloud-provider/fake.Cloud` that answer about instances. */
export const UpstreamCloud = z.object({
  EnableInstancesV2: z.boolean().prefault(false),
  ExistsByProviderID: z.boolean().prefault(false),
  NodeShutdown: z.boolean().prefault(false),
  Err: GoError.optional(),
  ErrByProviderID: GoError.optional(),
  ErrShutdownByProviderID: GoError.optional(),
  MetadataErr: GoError.optional(),
  ExtID: Texts,
  ExtIDErr: z.record(z.string(), GoError).nullish(),
  ProviderID: Texts,
  InstanceTypes: Texts,
  AdditionalLabels: Texts,
  Provider: z.string().prefault("fake"),
  Zone: z
    .object({ FailureDomain: z.string().prefault(""), Region: z.string().prefault("") })
    .prefault({ FailureDomain: "", Region: "" }),
  Addresses: z.array(NodeAddress).nullish(),
  /** Set in the only case whose cloud answers with nothing at all. */
  OverrideInstanceMetadata: z.unknown().optional(),
});
export type UpstreamCloud = z.output<typeof UpstreamCloud>;

/** The error with which a cloud of the first interface says that it has no provider IDs. */
const NOT_IMPLEMENTED = "unimplemented";
const NOT_FOUND = "instance not found";
const NO_PROVIDER_ID = "the cloud names no provider ID";

/** Answers about one node of a case. */
export type AnswerNode = (node: Node) => InstanceAnswer;

/** Creates a cloud of instances alone, which answers by a case's table. A visibility probe is always visible. */
export function createInstancesCloud(answer: AnswerNode, capabilities: Cloud["capabilities"] = {}): Cloud {
  return {
    provider: "memory",
    async instances(nodes: readonly Node[], { control }: CloudCall): Promise<InstancesResult> {
      const answers = nodes.map((node): InstanceAnswer => {
        const answered = answer(node);
        return answered.kind === "not-found" && control === true
          ? { ...answered, control: { id: "i-probe", account: "account-1", network: "network-1" } }
          : answered;
      });
      return { answers, usage: { calls: { Instances: 1 }, throttled: 0, waitedMs: 0 } };
    },
    capabilities,
    close: async () => {},
  };
}

/**
 * Answers the node controller's question as the table does. Upstream asks for the metadata alone, so a node
 * always has an instance here. An answer without a provider ID is an error, as the contract of a cloud says.
 */
export function answerMetadata(table: UpstreamCloud, node: Node): InstanceAnswer {
  const failure = table.MetadataErr ?? table.Err;
  if (failure !== undefined) return createError(failure.error);
  if (table.OverrideInstanceMetadata !== undefined) return createError("neither metadata nor an error");
  const known = node.spec.providerID ?? "";
  const named = findProviderId(table, node.metadata.name);
  if (known === "" && "error" in named)
    return named.error === NOT_FOUND ? { kind: "not-found", message: NOT_FOUND } : createError(named.error);
  const id = "error" in named ? "" : named.id;
  const providerID = table.EnableInstancesV2 ? id || known : known || id;
  // The second interface is asked with the node, and the fake one looks its type up by what the node says.
  const typeKey = table.EnableInstancesV2 ? known : providerID;
  return createFound(providerID, {
    type: table.InstanceTypes?.[typeKey] ?? "",
    zone: table.Zone.FailureDomain,
    region: table.Zone.Region,
    addresses: [...(table.Addresses ?? [])],
    labels: table.EnableInstancesV2 ? { ...table.AdditionalLabels } : {},
  });
}

/** Answers the lifecycle controller's question as the table does: existence first, then the shutdown. */
export function answerExistence(table: UpstreamCloud, node: Node): InstanceAnswer {
  const { name } = node.metadata;
  const known = node.spec.providerID ?? "";
  if (!table.EnableInstancesV2 && known === "") {
    const failure = table.ExtIDErr?.[name]?.error;
    if (failure === NOT_FOUND) return { kind: "not-found", message: failure };
    if (failure !== undefined) return createError(failure);
  }
  if (table.ErrByProviderID !== undefined) return createError(table.ErrByProviderID.error);
  if (!table.ExistsByProviderID) return { kind: "not-found", message: NOT_FOUND };
  if (table.ErrShutdownByProviderID !== undefined) return createError(table.ErrShutdownByProviderID.error);
  return createFound(known || "fake://12345", { state: table.NodeShutdown ? "stopped" : "running" });
}

type NamedProviderId = { readonly id: string } | { readonly error: string };

function findProviderId(table: UpstreamCloud, name: string): NamedProviderId {
  if (table.EnableInstancesV2) {
    const id = table.ProviderID?.[name] ?? "";
    return id === "" ? { error: NO_PROVIDER_ID } : { id };
  }
  const failure = table.ExtIDErr?.[name]?.error;
  if (failure === undefined) return { id: `${table.Provider}://${table.ExtID?.[name] ?? ""}` };
  return { error: failure === NOT_IMPLEMENTED ? NO_PROVIDER_ID : failure };
}

type Found = Extract<InstanceAnswer, { readonly kind: "found" }>;

function createFound(providerID: string, difference: Partial<Found["instance"]>): Found {
  return {
    kind: "found",
    instance: {
      id: providerID.split("/").at(-1) || "i-1",
      account: "account-1",
      network: "network-1",
      state: "running",
      providerID,
      type: "",
      zone: "",
      region: "",
      addresses: [],
      labels: {},
      ...difference,
    },
  };
}

function createError(message: string, code: InstanceErrorCode = "Unavailable"): InstanceAnswer {
  return { kind: "error", code, message };
}
