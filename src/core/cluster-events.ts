import * as z from "zod";
import { CONDITIONS, type DenialCode } from "#core/csr/conditions.ts";
import { FIREWALL_EVENTS } from "#core/firewall/events.ts";
import {
  FACTS,
  type Fact,
  type FactName,
  type FactsOf,
  listFactNames,
  type MessageTemplate,
  renderMessage,
} from "#core/message-template.ts";
import { ROUTE_EVENTS } from "#core/route/events.ts";
import { SERVICE_EVENTS } from "#core/service/events.ts";
import { TenantFact } from "#core/tenant-fact.ts";

/** The Events of one reason. */
interface EventsOfReason {
  readonly type: "Normal" | "Warning";
  /** Recorded even while other objects wait; other Normal Events are not. */
  readonly always?: true;
  /** The kind of object on which they are recorded. */
  readonly on: string;
  /** An object gets at most one of them in ten minutes, whatever the code. */
  readonly once?: true;
  /** By kind: the maximum in a cluster in ten minutes, for kinds with an unlimited number of objects. */
  readonly atMost?: Readonly<Record<string, number>>;
  /** By code, which distinguishes them and is part of their names. */
  readonly says: Readonly<Record<string, MessageTemplate>>;
}

const HELD =
  "no more nodes are deleted until the operator of the cloud controller has checked the cause. If the instance is gone, delete the node.";
const GONE_BUT = "The node's instance is gone, and the node is not deleted:";
const NOT_APPROVED = "CertificateSigningRequest {request} is not approved";

/** Sentences of the Events that report a denial to a node: those of the condition. */
type Denials = {
  readonly [Code in DenialCode]: {
    readonly sentence: `CertificateSigningRequest {request} is denied: ${(typeof CONDITIONS)[Code]["sentence"]}`;
    readonly when: string;
  };
};

const { InstanceVerified: _, ...DENIED } = CONDITIONS;
const DENIALS = Object.fromEntries(
  Object.entries(DENIED).map(([code, { sentence, when }]) => [
    code,
    { sentence: `CertificateSigningRequest {request} is denied: ${sentence}`, when },
  ]),
) as unknown as Denials;

/**
 * Every Event by reason and code: all that users of a cluster are told. Readers of Events need not be allowed
 * to know the rest of the cloud account. So sentences are fixed, and their facts are the tenant's own
 * (`src/core/tenant-fact.ts`). A foreign, an invisible and a nonexistent instance get equal messages.
 */
export const EVENTS = {
  Synced: {
    type: "Normal",
    on: "Node",
    says: {
      Initialized: {
        // The stock controller's sentence, so that existing searches find it.
        sentence: "Node synced successfully",
        when: "The node was initialized. Left out while other nodes wait.",
      },
    },
  },
  TaintRestored: {
    type: "Warning",
    on: "Node",
    says: {
      TaintRestored: {
        sentence:
          'The uninitialized taint comes back each time it is removed; it was last written by "{manager}"',
        when: "The node was initialized once more.",
      },
    },
  },
  CloudInitializationFailed: {
    type: "Warning",
    on: "Node",
    // One such Warning at a time is enough, whatever keeps the node from joining.
    once: true,
    says: {
      InstanceNotFound: {
        sentence:
          "No instance of the cloud is known to be both this node's and this cluster's. If the node's name or provider ID is wrong, delete the node and let its kubelet register again; else ask the operator of the cloud controller, whose log has details.",
        when: "The node waits for a minute and longer: there is no such instance, it is not the cluster's, or it may not be seen.",
      },
      InstanceTerminated: {
        sentence:
          "The node's instance has ended, or is about to. Delete the node; its kubelet will not come back.",
        when: "At once.",
      },
      Ambiguous: {
        sentence:
          "The node's name or address fits more than one instance of this cluster. Start its kubelet with --provider-id, or give the node the name that the cloud has for its instance.",
        when: "At once.",
      },
      ForeignProviderID: {
        sentence:
          "The node's provider ID is another cloud's, and the node waits for this one. If it is that cloud's, its own controller has to initialize it; else delete the node and start its kubelet with the right --provider-id, or none.",
        when: "At once.",
      },
      InvalidProviderID: {
        sentence:
          "The node's provider ID does not name an instance. Delete the node and start its kubelet with the right --provider-id, or none.",
        when: "At once.",
      },
      InvalidAddress: {
        sentence:
          "What annotations or labels of the node say of its addresses, such as k3s.io/internal-ip, is no list of IP addresses. Correct them, or the --node-ip and --node-external-ip of its agent.",
        when: "At once.",
      },
      ProvidedNodeIPInvalid: {
        sentence:
          "The annotation alpha.kubernetes.io/provided-node-ip is neither an IP address nor a pair of one IPv4 and one IPv6 address. Correct the kubelet's --node-ip.",
        when: "At once.",
      },
      ProvidedNodeIPUnmatched: {
        sentence:
          "The annotation alpha.kubernetes.io/provided-node-ip names an address that the node's instance does not have. Correct the kubelet's --node-ip, or give the instance the address.",
        when: "At once.",
      },
      NoNodeAddress: {
        sentence:
          "Neither an InternalIP nor an ExternalIP is known of the node's instance. Give the instance an address of a family that is configured for the cluster; where there is no cloud to ask, start the kubelet with --node-ip.",
        when: "The node waits for a minute and longer.",
      },
      CloudUnavailable: {
        sentence:
          "The cloud does not say at present which instance the node is, and is asked again. Nothing has to be done in the cluster; if it lasts, ask the operator of the cloud controller, whose log has details.",
        when: "The node waits for a minute and longer: the cloud throttles, fails, or was not asked.",
      },
    },
  },
  InstanceAmbiguous: {
    type: "Warning",
    on: "Node",
    says: {
      Ambiguous: {
        sentence:
          "The node's name or address fits more than one instance of this cluster. Start its kubelet with --provider-id, or give the node the name that the cloud has for its instance.",
        when: "A node that has joined is refreshed.",
      },
    },
  },
  InvalidProviderID: {
    type: "Warning",
    on: "Node",
    says: {
      InvalidProviderID: {
        sentence:
          "The node's provider ID does not name an instance. Delete the node and start its kubelet with the right --provider-id, or none.",
        when: "A node that has joined is refreshed.",
      },
    },
  },
  InstanceReplaced: {
    type: "Warning",
    on: "Node",
    says: {
      InstanceReplaced: {
        sentence:
          "The instance of this node ({providerID}) is gone, and instance {successor} of this cluster has the node's name by now. The node keeps its addresses. Delete it, and the kubelet of {successor} registers anew under the name.",
        when: "A node that has joined is refreshed, once in ten minutes as long as it is so.",
      },
    },
  },
  DeletingNode: {
    type: "Normal",
    always: true,
    on: "Node",
    says: {
      InstanceGone: {
        // The stock controller's sentence, so that existing searches find it.
        sentence: "Deleting node {node} because it does not exist in the cloud provider",
        when: "The node was deleted.",
      },
    },
  },
  DeletingNodeFailed: {
    type: "Warning",
    on: "Node",
    says: {
      Forbidden: {
        sentence: "Failed deleting node {node}: {words}",
        when: "The API server answered the deletion with 403.",
      },
      Rejected: {
        sentence: "Failed deleting node {node}: {words}",
        when: "The API server answered the deletion with another refusal that the same deletion will meet again.",
      },
    },
  },
  DeletionUnproven: {
    type: "Warning",
    on: "Node",
    says: {
      NoControl: {
        sentence:
          "The cloud does not find the node's instance, and shows no other one of this cluster where the node was seen: the node is not deleted. If its instance is gone, delete the node; else ask the operator of the cloud controller, whose log has details.",
        when: "At once.",
      },
    },
  },
  DeletionBrakePulled: {
    type: "Warning",
    on: "Node",
    says: {
      TenMinutes: {
        sentence: `The cloud does not find the node's instance, and that of too many nodes within ten minutes: ${HELD}`,
        when: "More nodes would have been deleted in ten minutes than the cluster's configuration allows.",
      },
      Day: {
        sentence: `The cloud does not find the node's instance, and that of too many nodes within a day: ${HELD}`,
        when: "More nodes would have been deleted in a day than the cluster's configuration allows.",
      },
      AllNodes: {
        sentence: `The cloud does not find the node's instance, and no other node would be left: ${HELD}`,
        when: "No node would have been left.",
      },
      Fleet: {
        sentence: `The cloud does not find the node's instance, and deletions are held back: ${HELD}`,
        when: "The brake of the fleet is pulled, or its record cannot be used.",
      },
    },
  },
  DeletionStateUnusable: {
    type: "Warning",
    on: "Node",
    says: {
      StateMissing: {
        sentence: `${GONE_BUT} the ConfigMap kube-system/serverless-ccm is missing. Apply infra/state/config-map.yaml of serverless-ccm.`,
        when: "At once.",
      },
      StateUnreadable: {
        sentence: `${GONE_BUT} the ConfigMap kube-system/serverless-ccm cannot be read. Ask the operator of the cloud controller, whose log has details.`,
        when: "At once.",
      },
      StateMalformed: {
        sentence: `${GONE_BUT} key "state" of the ConfigMap kube-system/serverless-ccm was edited into something else. Delete the key.`,
        when: "At once.",
      },
      StateOfOtherVersion: {
        sentence: `${GONE_BUT} key "state" of the ConfigMap kube-system/serverless-ccm is of another version of the cloud controller. Ask its operator.`,
        when: "At once.",
      },
    },
  },
  "{kind}UpdateRejected": {
    type: "Warning",
    on: "any kind",
    says: {
      Forbidden: {
        sentence: "The API server does not accept the update of this {kind}: {words}",
        when: "The API server answered an update with 403.",
      },
      Rejected: {
        sentence: "The API server does not accept the update of this {kind}: {words}",
        when: "The API server answered an update with another refusal that the same update will meet again.",
      },
    },
  },
  ...SERVICE_EVENTS,
  ...ROUTE_EVENTS,
  ...FIREWALL_EVENTS,
  ServingCertificate: {
    type: "Warning",
    on: "Node, CertificateSigningRequest",
    atMost: { CertificateSigningRequest: 1_000 },
    says: {
      ...DENIALS,
      InstanceNotFound: {
        sentence: `${NOT_APPROVED}: no instance of the cloud is known to be both the node's and this cluster's`,
        when: "The request waits for a minute and longer: there is no such instance, it is not the cluster's, or it may not be seen.",
      },
      InstanceNotRunning: {
        sentence: `${NOT_APPROVED}: the node's instance is not running`,
        when: "The request waits for a minute and longer.",
      },
      Ambiguous: {
        sentence: `${NOT_APPROVED}: the cloud has more than one instance of this cluster for the node`,
        when: "At once.",
      },
      ForeignProviderID: {
        sentence: `${NOT_APPROVED}: the node's provider ID is another cloud's`,
        when: "At once.",
      },
      InvalidProviderID: {
        sentence: `${NOT_APPROVED}: the node's provider ID names no instance`,
        when: "At once.",
      },
      NameNotOfInstance: {
        sentence: `${NOT_APPROVED}: the cloud does not give these names for the node's instance: {names}`,
        when: "The request names what the cloud does not give.",
      },
      RequestTooLarge: { sentence: `${NOT_APPROVED}: it is too large to be read`, when: "At once." },
      RequestUnreadable: {
        sentence: `${NOT_APPROVED}: it cannot be read without doubt`,
        when: "At once.",
      },
      RequestUnusual: {
        sentence: `${NOT_APPROVED}: it asks for what no kubelet asks for`,
        when: "The request has parts that a kubelet's has not.",
      },
    },
  },
} as const satisfies Readonly<Record<string, EventsOfReason>>;

/** A reason of the catalogue, with a placeholder for the object's kind if it contains one. */
export type ClusterEventReason = keyof typeof EVENTS;
/** A code of the Events with a given reason. */
export type CodeOf<Reason extends ClusterEventReason> = keyof (typeof EVENTS)[Reason]["says"] & string;

type SentenceOf<
  Reason extends ClusterEventReason,
  Code extends CodeOf<Reason>,
> = (typeof EVENTS)[Reason]["says"][Code] extends { readonly sentence: infer Sentence extends string }
  ? Sentence
  : never;

/** The catalogue's fields of an Event in a decision: its reason and code, and the facts of its sentence. */
export const catalogEventFields = {
  reason: z.enum(Object.keys(EVENTS) as [ClusterEventReason, ...ClusterEventReason[]]),
  code: z.string(),
  facts: z.partialRecord(
    z.enum(Object.keys(FACTS) as [FactName, ...FactName[]]),
    z.union([TenantFact, z.array(TenantFact).readonly()]),
  ),
};
/** An Event of the catalogue with its facts. */
export type CatalogEvent = {
  readonly [Key in keyof typeof catalogEventFields]: z.output<(typeof catalogEventFields)[Key]>;
};

/** Returns whether the catalogue contains an Event. */
export function isCatalogEvent({ reason, code }: Pick<CatalogEvent, "reason" | "code">): boolean {
  return Object.hasOwn(EVENTS[reason].says, code);
}

/** Returns whether one Event of this reason is enough for an object, whatever the code. */
export function isEmittedOnce(reason: ClusterEventReason): boolean {
  return "once" in EVENTS[reason];
}

/**
 * Returns how many Events of a reason a cluster gets in ten minutes on objects of a kind; undefined without
 * such a limit.
 */
export function limitOnKind(reason: ClusterEventReason, kind: string): number | undefined {
  const { atMost = {} }: EventsOfReason = EVENTS[reason];
  return Object.hasOwn(atMost, kind) ? atMost[kind] : undefined;
}

/** Builds an Event of the catalogue; facts that its sentence does not use are dropped. */
export function buildClusterEvent<Reason extends ClusterEventReason, Code extends CodeOf<Reason>>(
  reason: Reason,
  code: Code,
  facts: FactsOf<SentenceOf<Reason, Code>>,
): CatalogEvent {
  const names: readonly string[] = listFactNames(getMessageTemplate({ reason, code }));
  const kept = Object.entries<Fact>(facts).filter(([name]) => names.includes(name));
  return { reason, code, facts: Object.fromEntries(kept) };
}

/** Returns the Event as people read it. */
export function renderEvent({ reason, code, facts }: CatalogEvent): {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
} {
  return {
    type: EVENTS[reason].type,
    reason: renderMessage(reason, facts),
    message: renderMessage(getMessageTemplate({ reason, code }), facts),
  };
}

/** Returns whether the Event may be left out while other objects wait. */
export function isDispensable({ reason }: Pick<CatalogEvent, "reason">): boolean {
  const { type, always }: EventsOfReason = EVENTS[reason];
  return type === "Normal" && always === undefined;
}

function getMessageTemplate({ reason, code }: Pick<CatalogEvent, "reason" | "code">): string {
  if (!isCatalogEvent({ reason, code })) throw new Error(`there is no Event ${reason} with the code ${code}`);
  const says: Readonly<Record<string, MessageTemplate>> = EVENTS[reason].says;
  return (says[code] as MessageTemplate).sentence;
}
