/** The Events of a node's initialization and refresh, by reason and code, for `src/core/event-catalog.ts`. */
export const NODE_EVENTS = {
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
          "An annotation or label with the node's addresses, such as k3s.io/internal-ip, is not a list of IP addresses. Correct it, or the --node-ip and --node-external-ip of its agent.",
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
} as const;
