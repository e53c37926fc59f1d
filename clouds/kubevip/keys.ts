/** The annotation by which kube-vip is told the addresses of a Service: a comma list. */
export const ADDRESSES_ANNOTATION = "kube-vip.io/loadbalancerIPs";

/** The annotation by which it is told the interface. */
export const INTERFACE_ANNOTATION = "kube-vip.io/serviceInterface";

/** Ours: the addresses that were chosen here rather than by somebody else, as they were written. Only these are ever taken back. */
export const CHOSEN_ANNOTATION = "serverless-ccm.io/kube-vip-chosen";

/** The label by which Services with addresses of kube-vip's are found. */
export const IMPLEMENTATION_LABEL = "implementation";
export const KUBE_VIP = "kube-vip";

/** A label of earlier versions. */
export const LEGACY_LABEL = "ipam-address";

/** The address that asks for one by DHCP. */
export const DHCP_ADDRESS = "0.0.0.0";
