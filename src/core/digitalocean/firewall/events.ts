const NOTHING_OPENED = "Ports that Services open meanwhile are not reached from outside.";
const ASK = "Ask the operator of the cloud controller, whose log has details.";

/**
 * The Events of the cluster's firewall, by reason and code, for `src/core/event-catalog.ts`.
 */
export const FIREWALL_EVENTS = {
  SyncFirewallFailed: {
    type: "Warning",
    on: "Namespace",
    says: {
      FirewallForeign: {
        sentence: `The firewall of the cluster holds for machines that are not the cluster's by its tags, and stays unchanged. ${NOTHING_OPENED} ${ASK}`,
        when: "The firewall of the configured name carries droplets, or a tag that is not configured.",
      },
      FirewallAmbiguous: {
        sentence: `There is more than one firewall of the name that the cluster's has, and each stays unchanged. ${NOTHING_OPENED} ${ASK}`,
        when: "The account has two firewalls of the configured name.",
      },
      FirewallRefused: {
        sentence: `The cloud does not take the rules that the cluster's Services ask for. ${NOTHING_OPENED} ${ASK}`,
        when: "The cloud denies it or calls it wrong, such as more rules than a firewall may have.",
      },
    },
  },
  FirewallAnnotationInvalid: {
    type: "Warning",
    on: "Service",
    says: {
      TypeInvalid: {
        sentence:
          "The firewall of the cluster opens no port for this Service: the annotation {field} is neither REGIONAL nor REGIONAL_NETWORK.",
        when: "At each check of the firewall, until the cause is fixed.",
      },
      NetworkInvalid: {
        sentence:
          "The firewall of the cluster opens no port for this Service: the annotation {field} is neither EXTERNAL nor INTERNAL.",
        when: "At each check of the firewall, until the cause is fixed.",
      },
      ManagedInvalid: {
        sentence:
          "The annotation {field} is neither true nor false: the firewall of the cluster lets in what the Service's node ports take.",
        when: "At each check of the firewall, until the cause is fixed.",
      },
    },
  },
} as const;
