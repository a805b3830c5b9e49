package population

// The sequences of the columns: facts of the specification's generator.
var (
	seedManufacturer = seed{1, 1}
	seedBrand        = seed{46831694, 1}
	seedType         = seed{1841581359, 1}
	seedSize         = seed{1193163244, 1}
	seedContainer    = seed{727633698, 1}
	seedText         = seed{933588178, 0}
	seedPartComment  = seed{804159733, 2}
	seedPartName     = seed{709314158, 92}

	seedAvailable       = seed{1671059989, partSuppEach}
	seedSupplyCost      = seed{1051288424, partSuppEach}
	seedPartSuppComment = seed{1961692154, partSuppEach * 2}

	seedClerk        = seed{1171034773, 1}
	seedOrderComment = seed{276090261, 2}
	seedOrderDate    = seed{1066728069, 1}
	seedPriority     = seed{591449447, 1}
	seedOrderKey     = seed{851767375, 1} // of the customer
	seedLineCount    = seed{1434868289, 1}

	seedQuantity    = seed{209208115, maxLines}
	seedDiscount    = seed{554590007, maxLines}
	seedTax         = seed{721958466, maxLines}
	seedInstruct    = seed{1371272478, maxLines}
	seedMode        = seed{675466456, maxLines}
	seedLinePart    = seed{1808217256, maxLines}
	seedLineSupp    = seed{2095021727, maxLines}
	seedShipDate    = seed{1769349045, maxLines}
	seedCommitDate  = seed{904914315, maxLines}
	seedReceiptDate = seed{373135028, maxLines}
	seedReturnFlag  = seed{717419739, maxLines}
	seedLineComment = seed{1095462486, maxLines * 2}

	seedCustomerAddress = seed{881155353, 9}
	seedCustomerNation  = seed{1489529863, 1}
	seedCustomerPhone   = seed{1521138112, 3}
	seedCustomerBalance = seed{298370230, 1}
	seedSegment         = seed{1140279430, 1}
	seedCustomerComment = seed{1335826707, 2}

	seedSupplierAddress = seed{706178559, 9}
	seedSupplierNation  = seed{110356601, 1}
	seedSupplierPhone   = seed{884434366, 3}
	seedSupplierBalance = seed{962338209, 1}
	seedSupplierComment = seed{1341315363, 2}
	seedPressNoise      = seed{263032577, 1}
	seedPressKind       = seed{753643799, 1}
	seedPress           = seed{202794285, 1}
	seedPressOffset     = seed{715851524, 1}

	seedNationComment = seed{606179079, 2}
	seedRegionComment = seed{1500869201, 2}
)
