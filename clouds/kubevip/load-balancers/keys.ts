/** The annotation with a Service's addresses for kube-vip: a comma-separated list. */
export const ADDRESSES_ANNOTATION = "kube-vip.io/loadbalancerIPs";

/** The annotation with the interface for kube-vip. */
export const INTERFACE_ANNOTATION = "kube-vip.io/serviceInterface";

/** Our annotation: the addresses that were chosen here, as written. Only these are ever removed. */
export const CHOSEN_ANNOTATION = "serverless-ccm.io/kube-vip-chosen";

/** The label that identifies Services with kube-vip addresses. */
export const IMPLEMENTATION_LABEL = "implementation";
export const KUBE_VIP = "kube-vip";

/** A label of earlier versions. */
export const LEGACY_LABEL = "ipam-address";

/** The address that requests one by DHCP. */
export const DHCP_ADDRESS = "0.0.0.0";
