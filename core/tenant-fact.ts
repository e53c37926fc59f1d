import * as z from "zod";
import type { CertificateRequest } from "#core/csr/certificate-request.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ObjectReference } from "#core/decision.ts";
import type { ObjectHint } from "#core/event.ts";
import type { Instance } from "#core/instance.ts";

/**
 * Text that is the tenant's own already: of its objects, of its API server's answers, or the id of an instance that was checked to
 * be its own. Beside fixed sentences nothing else gets into what people read in a cluster, and it is made in this file alone: a
 * cloud's message is a `string`, and does not fit where this is asked for.
 */
export const TenantFact = z.string().brand<"TenantFact">();
export type TenantFact = z.output<typeof TenantFact>;

/** The name of an object of the cluster. */
export function nameOf({ metadata }: { readonly metadata: { readonly name: string } }): TenantFact {
  return own(metadata.name);
}

/** The kind of an object of the cluster. */
export function kindOf({ kind }: ObjectReference): TenantFact {
  return own(kind);
}

/** The field manager that keeps undoing our work, as the object's `managedFields` name it. */
export function managerOf(hint: ObjectHint | undefined): TenantFact | undefined {
  return hint?.undoneBy === undefined ? undefined : own(hint.undoneBy);
}

/** The names and addresses that a certificate request asks for. */
export function namesIn({ dnsNames, ipAddresses }: CertificateRequest): {
  readonly dnsNames: readonly TenantFact[];
  readonly ipAddresses: readonly TenantFact[];
} {
  return { dnsNames: dnsNames.map(own), ipAddresses: ipAddresses.map(own) };
}

/** The usages that a certificate request asks for, each once. */
export function usagesOf({ spec }: Pick<CertificateSigningRequest, "spec">): readonly TenantFact[] {
  return [...new Set(spec.usages)].sort().map(own);
}

/** The id of the node's own instance: what a cloud answers as found was checked to be the cluster's. */
export function instanceIdOf({ id }: Instance): TenantFact {
  return own(id);
}

/** What a node of the cluster names as its instance. */
export function providerIDOf({
  spec,
}: {
  readonly spec: { readonly providerID?: string | undefined };
}): TenantFact {
  return own(spec.providerID ?? "");
}

/** The id of the instance that has taken a node's name over: it was checked to be the cluster's, as what is found is. */
export function successorIn({
  takenOverBy,
}: {
  readonly takenOverBy?: string | undefined;
}): TenantFact | undefined {
  return takenOverBy === undefined ? undefined : own(takenOverBy);
}

/** What the tenant's own API server said when it refused an update. */
export function wordsOfServer(refusal: { readonly kind: "rejected"; readonly message: string }): TenantFact {
  return own(refusal.message);
}

function own(text: string): TenantFact {
  return text as TenantFact;
}
