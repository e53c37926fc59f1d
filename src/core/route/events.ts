const COULD_NOT = "Could not create a route to {networks} for node {node}:";

/**
 * The Events of routes, by reason and code, for `src/core/event-catalog.ts`; the reason is the
 * stock controller's.
 */
export const ROUTE_EVENTS = {
  FailedToCreateRoute: {
    type: "Warning",
    on: "Node",
    says: {
      OutsideClusterCIDR: {
        sentence: `${COULD_NOT} not all of it is within the networks that are configured for the cluster's pods. Let the controller that hands out pod CIDRs have the same ones.`,
        when: "A pod CIDR of the node is not within `routes.clusterCIDRs`, or is not a network.",
      },
      CIDRTaken: {
        sentence: `${COULD_NOT} another node says that it has the same network. Delete the one that is wrong, and let its kubelet register again.`,
        when: "Two nodes have one pod CIDR; who has a route keeps it.",
      },
      NetworkOverlaps: {
        sentence: `${COULD_NOT} it overlaps the network of the nodes themselves. Let the controller that hands out pod CIDRs have networks that do not.`,
        when: "A pod CIDR of the node overlaps a CIDR of the VPC.",
      },
      RouteOccupied: {
        sentence: `${COULD_NOT} there is a route to it already that is not this cluster's. Ask the operator of the cloud controller, whose log has details.`,
        when: "A route table has a route to the pod CIDR that leads to a gateway, a peering, or a machine that is not the cluster's.",
      },
      InstanceNotFound: {
        sentence: `${COULD_NOT} no instance of the cloud is known to be both this node's and this cluster's. If its provider ID is wrong, delete the node and let its kubelet register again; else ask the operator of the cloud controller, whose log has details.`,
        when: "There is no such instance, it has ended, it is not the cluster's, or it may not be seen.",
      },
      RouteTableMissing: {
        sentence: `${COULD_NOT} the cluster has no route table at present. Nothing has to be done in the cluster; ask the operator of the cloud controller, whose log has details.`,
        when: "No route table is tagged or configured, one of those configured was not found, or they are of two VPCs.",
      },
      RouteLimitExceeded: {
        sentence: `${COULD_NOT} the cluster's route table takes no more routes. It has them of {routes} nodes of this cluster. Ask the operator of the cloud controller to have its quota raised.`,
        when: "Once for all nodes that wait for it.",
      },
      CloudRefused: {
        sentence: `${COULD_NOT} the cloud did not take it. Ask the operator of the cloud controller, whose log has details.`,
        when: "The cloud denies it, or calls it wrong.",
      },
    },
  },
} as const;
