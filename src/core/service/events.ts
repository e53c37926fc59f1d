import { ISSUES } from "#core/service/issues.ts";

const LASTS =
  "the controller retries. Nothing has to be done in the cluster; if it lasts, ask the operator of the cloud controller, whose log has details.";

/**
 * The Events on Services, by reason and code, for `src/core/event-catalog.ts`. Reasons equal
 * the stock controller's.
 */
export const SERVICE_EVENTS = {
  EnsuringLoadBalancer: {
    type: "Normal",
    on: "Service",
    says: {
      Ensuring: {
        // These five equal the stock controller's sentences, so that existing searches find them.
        sentence: "Ensuring load balancer",
        when: "The cloud is being changed for the Service. Left out while other objects wait.",
      },
    },
  },
  EnsuredLoadBalancer: {
    type: "Normal",
    on: "Service",
    says: {
      Ensured: {
        sentence: "Ensured load balancer",
        when: "The load balancer is as the Service asks for. Left out while other objects wait.",
      },
    },
  },
  UpdatedLoadBalancer: {
    type: "Normal",
    on: "Service",
    says: {
      Updated: {
        sentence: "Updated load balancer with new hosts",
        when: "Nothing but its targets has changed. Left out while other objects wait.",
      },
    },
  },
  UnAvailableLoadBalancer: {
    type: "Warning",
    on: "Service",
    says: {
      NoNodes: {
        sentence: "There are no available nodes for LoadBalancer",
        when: "The load balancer exists, and has no node to send to.",
      },
      TargetsKept: {
        sentence:
          "There are no available nodes for LoadBalancer: it keeps its targets until the API server has listed no eligible node twice, 30 seconds apart",
        when: "The last node that it may send to seems to be gone: deleted, excluded by its label, or about to go by the autoscaler's taint.",
      },
    },
  },
  DeletingLoadBalancer: {
    type: "Normal",
    on: "Service",
    says: {
      Deleting: {
        sentence: "Deleting load balancer",
        when: "The cloud is being cleared of what there is of the Service. Left out while other objects wait.",
      },
    },
  },
  DeletedLoadBalancer: {
    type: "Normal",
    on: "Service",
    says: {
      Deleted: {
        sentence: "Deleted load balancer",
        when: "Nothing of the Service's load balancer is left. Left out while other objects wait.",
      },
    },
  },
  SyncLoadBalancerFailed: {
    type: "Warning",
    on: "Service",
    says: {
      ...ISSUES,
      LoadBalancerLimit: {
        sentence:
          "The cluster has reached its limit of load balancers. This Service gets one when an older one is deleted. Ask the operator of the cloud controller for a higher limit.",
        when: "At once, and as long as it waits.",
      },
      CloudUnavailable: {
        sentence: `The cloud does not do at present what the load balancer needs, and ${LASTS}`,
        when: "Within ten seconds where the cloud throttles, fails or was not asked, and at once where it denies. Not where an audit alone fails.",
      },
    },
  },
  /** Some stock controllers emit it in addition to `SyncLoadBalancerFailed`. */
  LoadBalancerConfigError: {
    type: "Warning",
    on: "Service",
    says: {
      NodesWithoutPublicAddress: ISSUES.NodesWithoutPublicAddress,
      InvalidAnnotation: ISSUES.InvalidAnnotation,
    },
  },
  DeleteLoadBalancerFailed: {
    type: "Warning",
    on: "Service",
    says: {
      LoadBalancerRefused: {
        sentence:
          "The load balancer cannot be deleted. Ask the operator of the cloud controller, whose log has details.",
        when: "At each attempt, until the cause is fixed.",
      },
      DeletionProtected: {
        sentence:
          "The load balancer has deletion protection, which this controller did not set. Ask the operator of the cloud controller to remove the protection.",
        when: "At each attempt, until the cause is fixed.",
      },
      SecurityGroupHidden: ISSUES.SecurityGroupHidden,
      CloudUnavailable: {
        sentence: `The cloud does not delete the load balancer at present, and ${LASTS}`,
        when: "Within ten seconds where the cloud throttles, fails or was not asked, and at once where it denies.",
      },
    },
  },
} as const;
