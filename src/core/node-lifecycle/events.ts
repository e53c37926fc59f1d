const HELD =
  "no more nodes are deleted until the operator of the cloud controller has checked the cause. If the instance is gone, delete the node.";
const GONE_BUT = "The node's instance is gone, and the node is not deleted:";

/** The Events of the node lifecycle, by reason and code, for `src/core/event-catalog.ts`. */
export const NODE_LIFECYCLE_EVENTS = {
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
} as const;
