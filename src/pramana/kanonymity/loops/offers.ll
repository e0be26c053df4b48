; made of ad9fe91ffc9da27a9c7336e133810726a8680435b61a2960f3406acbfe5d3d68
; by LLVM 22
; takes <f8:2 <i8:1 |b1:1 <i8:1 <i4:2 <f8:1 <i8:1
; gives i
define noundef range(i32 -1, -2) i32 @pramana.offers(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.middle.0, ptr readnone captures(none) %arg.middle.1, i64 %arg.middle.2, i64 %arg.middle.3, ptr readonly captures(none) %arg.middle.4, i64 %arg.middle.5.0, i64 %arg.middle.5.1, i64 %arg.middle.6.0, i64 %arg.middle.6.1, ptr readnone captures(none) %arg.sizes.0, ptr readnone captures(none) %arg.sizes.1, i64 %arg.sizes.2, i64 %arg.sizes.3, ptr readonly captures(none) %arg.sizes.4, i64 %arg.sizes.5.0, i64 %arg.sizes.6.0, ptr readnone captures(none) %arg.short.0, ptr readnone captures(none) %arg.short.1, i64 %arg.short.2, i64 %arg.short.3, ptr readonly captures(none) %arg.short.4, i64 %arg.short.5.0, i64 %arg.short.6.0, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr readonly captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr readnone captures(none) %arg.graph.0, ptr readnone captures(none) %arg.graph.1, i64 %arg.graph.2, i64 %arg.graph.3, ptr readonly captures(none) %arg.graph.4, i64 %arg.graph.5.0, i64 %arg.graph.5.1, i64 %arg.graph.6.0, i64 %arg.graph.6.1, ptr readnone captures(none) %arg.rise.0, ptr readnone captures(none) %arg.rise.1, i64 %arg.rise.2, i64 %arg.rise.3, ptr captures(none) %arg.rise.4, i64 %arg.rise.5.0, i64 %arg.rise.6.0, ptr readnone captures(none) %arg.other.0, ptr readnone captures(none) %arg.other.1, i64 %arg.other.2, i64 %arg.other.3, ptr writeonly captures(none) %arg.other.4, i64 %arg.other.5.0, i64 %arg.other.6.0) local_unnamed_addr #0 {
B0.endif:
  %arg.middle.5.1.fr = freeze i64 %arg.middle.5.1
  %arg.graph.5.1.fr = freeze i64 %arg.graph.5.1
  %.183358.not = icmp sgt i64 %arg.graph.5.0, 0
  %.396346 = icmp sgt i64 %arg.graph.5.1.fr, 0
  %or.cond = and i1 %.183358.not, %.396346
  br i1 %or.cond, label %B58.us.preheader, label %common.ret
B58.us.preheader:
  %.137113.not.i = icmp slt i64 %arg.middle.5.1.fr, 1
  %xtraiter.i = and i64 %arg.middle.5.1.fr, 3
  %unroll_iter.i = and i64 %arg.middle.5.1.fr, 9223372036854775804
  %0 = shl i64 %arg.middle.5.1.fr, 3
  br i1 %.137113.not.i, label %B58.us.us.preheader, label %B58.us.preheader11
B58.us.preheader11:
  br label %B58.us
B58.us.us.preheader:
  %1 = shl i64 %arg.graph.5.1.fr, 2
  br label %B58.us.us
B58.us.us:
  %lsr.iv = phi ptr [ %arg.graph.4, %B58.us.us.preheader ], [ %scevgep, %B353.us.us ]
  %.189351361.us.us = phi i64 [ %.196.us.us, %B353.us.us ], [ 0, %B58.us.us.preheader ]
  %.196.us.us = add nuw nsw i64 %.189351361.us.us, 1
  %2 = getelementptr i64, ptr %arg.labels.4, i64 %.189351361.us.us
  %.254.us.us = load i64, ptr %2, align 8
  %.272.us.us = icmp slt i64 %.254.us.us, 0
  %.273.us.us = select i1 %.272.us.us, i64 %arg.short.5.0, i64 0
  %3 = getelementptr i8, ptr %arg.short.4, i64 %.254.us.us
  %.287.us.us = getelementptr i8, ptr %3, i64 %.273.us.us
  %.288.us.us = load i8, ptr %.287.us.us, align 1
  %.291.us.us = icmp eq i8 %.288.us.us, 0
  br i1 %.291.us.us, label %B353.us.us, label %B94.endif.us.us
B94.endif.us.us:
  %4 = icmp slt i64 %.254.us.us, 0
  %.575.us.us = select i1 %4, i64 %arg.sizes.5.0, i64 0
  %5 = getelementptr i64, ptr %arg.sizes.4, i64 %.254.us.us
  %.712.us.us = select i1 %4, i64 %arg.rise.5.0, i64 0
  %6 = getelementptr double, ptr %arg.rise.4, i64 %.254.us.us
  %.781.us.us = select i1 %4, i64 %arg.other.5.0, i64 0
  %7 = getelementptr i64, ptr %arg.other.4, i64 %.254.us.us
  br label %B148.us.us.us
B353.us.us:
  %scevgep = getelementptr i8, ptr %lsr.iv, i64 %1
  %exitcond381.not.us = icmp eq i64 %.196.us.us, %arg.graph.5.0
  br i1 %exitcond381.not.us, label %common.ret, label %B58.us.us
B148.us.us.us:
  %.402345347.us.us.us = phi i64 [ 0, %B94.endif.us.us ], [ %.409.us.us.us, %B348.us.us.us ]
  %.409.us.us.us = add nuw nsw i64 %.402345347.us.us.us, 1
  %8 = shl i64 %.402345347.us.us.us, 2
  %scevgep13 = getelementptr i8, ptr %lsr.iv, i64 %8
  %.484.us.us.us = load i32, ptr %scevgep13, align 4
  %.486.us.us.us = sext i32 %.484.us.us.us to i64
  %.499.us.us.us = icmp slt i32 %.484.us.us.us, 0
  %.500.us.us.us = select i1 %.499.us.us.us, i64 %arg.labels.5.0, i64 0
  %9 = getelementptr i64, ptr %arg.labels.4, i64 %.500.us.us.us
  %.514.us.us.us = getelementptr i64, ptr %9, i64 %.486.us.us.us
  %.515.us.us.us = load i64, ptr %.514.us.us.us, align 8
  %.521.not.us.us.us = icmp eq i64 %.515.us.us.us, %.254.us.us
  br i1 %.521.not.us.us.us, label %B348.us.us.us, label %B194.us.us.us
B194.us.us.us:
  %sunkaddr = mul i64 %.575.us.us, 8
  %sunkaddr24 = getelementptr inbounds i8, ptr %5, i64 %sunkaddr
  %.590.us.us.us = load i64, ptr %sunkaddr24, align 8
  %.591.us.us.us = sitofp i64 %.590.us.us.us to double
  %.592.us.us.us = tail call double @llvm.copysign.f64(double 0.000000e+00, double %.591.us.us.us)
  %.607.us.us.us = icmp slt i64 %.515.us.us.us, 0
  %.608.us.us.us = select i1 %.607.us.us.us, i64 %arg.sizes.5.0, i64 0
  %10 = getelementptr i64, ptr %arg.sizes.4, i64 %.515.us.us.us
  %.622.us.us.us = getelementptr i64, ptr %10, i64 %.608.us.us.us
  %.623.us.us.us = load i64, ptr %.622.us.us.us, align 8
  %.624.us.us.us = sitofp i64 %.623.us.us.us to double
  %.625.us.us.us = fmul double %.592.us.us.us, %.624.us.us.us
  %.688.us.us.us = add nsw i64 %.623.us.us.us, %.590.us.us.us
  %.689.us.us.us = sitofp i64 %.688.us.us.us to double
  %.693.us.us.us = fdiv double %.625.us.us.us, %.689.us.us.us
  %sunkaddr25 = mul i64 %.712.us.us, 8
  %sunkaddr26 = getelementptr inbounds i8, ptr %6, i64 %sunkaddr25
  %.727.us.us.us = load double, ptr %sunkaddr26, align 8
  %.729.us.us.us = fcmp olt double %.693.us.us.us, %.727.us.us.us
  br i1 %.729.us.us.us, label %B326.us.us.us, label %B348.us.us.us
B326.us.us.us:
  %sunkaddr27 = mul i64 %.712.us.us, 8
  %sunkaddr28 = getelementptr i8, ptr %6, i64 %sunkaddr27
  store double %.693.us.us.us, ptr %sunkaddr28, align 8
  %sunkaddr29 = mul i64 %.781.us.us, 8
  %sunkaddr30 = getelementptr inbounds i8, ptr %7, i64 %sunkaddr29
  store i64 %.515.us.us.us, ptr %sunkaddr30, align 8
  br label %B348.us.us.us
B348.us.us.us:
  %exitcond380.not.us.us = icmp eq i64 %arg.graph.5.1.fr, %.409.us.us.us
  br i1 %exitcond380.not.us.us, label %B353.us.us, label %B148.us.us.us
B58.us:
  %.189351361.us = phi i64 [ %.196.us, %B353.us ], [ 0, %B58.us.preheader11 ]
  %.196.us = add nuw nsw i64 %.189351361.us, 1
  %11 = getelementptr i64, ptr %arg.labels.4, i64 %.189351361.us
  %.254.us = load i64, ptr %11, align 8
  %.272.us = icmp slt i64 %.254.us, 0
  %.273.us = select i1 %.272.us, i64 %arg.short.5.0, i64 0
  %12 = getelementptr i8, ptr %arg.short.4, i64 %.254.us
  %.287.us = getelementptr i8, ptr %12, i64 %.273.us
  %.288.us = load i8, ptr %.287.us, align 1
  %.291.us = icmp eq i8 %.288.us, 0
  br i1 %.291.us, label %B353.us, label %B94.endif.us
B94.endif.us:
  %13 = icmp slt i64 %.254.us, 0
  %.479.us = mul i64 %.189351361.us, %arg.graph.5.1.fr
  %14 = getelementptr i32, ptr %arg.graph.4, i64 %.479.us
  %.575.us = select i1 %13, i64 %arg.sizes.5.0, i64 0
  %15 = getelementptr i64, ptr %arg.sizes.4, i64 %.254.us
  %.712.us = select i1 %13, i64 %arg.rise.5.0, i64 0
  %16 = getelementptr double, ptr %arg.rise.4, i64 %.254.us
  %.781.us = select i1 %13, i64 %arg.other.5.0, i64 0
  %17 = getelementptr i64, ptr %arg.other.4, i64 %.254.us
  %.199.i = select i1 %13, i64 %arg.middle.5.0, i64 0
  %.200.i = add i64 %.199.i, %.254.us
  %18 = mul i64 %.200.i, %0
  %19 = getelementptr i8, ptr %arg.middle.4, i64 %18
  %scevgep6.i = getelementptr i8, ptr %19, i64 24
  %20 = mul i64 %.200.i, %arg.middle.5.1.fr
  br label %B148.us
B148.us:
  %.402345347.us = phi i64 [ 0, %B94.endif.us ], [ %.409.us, %B348.us ]
  %.409.us = add nuw nsw i64 %.402345347.us, 1
  %21 = getelementptr i32, ptr %14, i64 %.402345347.us
  %.484.us = load i32, ptr %21, align 4
  %.486.us = sext i32 %.484.us to i64
  %.499.us = icmp slt i32 %.484.us, 0
  %.500.us = select i1 %.499.us, i64 %arg.labels.5.0, i64 0
  %22 = getelementptr i64, ptr %arg.labels.4, i64 %.500.us
  %.514.us = getelementptr i64, ptr %22, i64 %.486.us
  %.515.us = load i64, ptr %.514.us, align 8
  %.521.not.us = icmp eq i64 %.515.us, %.254.us
  br i1 %.521.not.us, label %B348.us, label %B194.us
B194.us:
  %23 = icmp ult i64 %arg.middle.5.1.fr, 4
  %.249.i = icmp slt i64 %.515.us, 0
  %.250.i = select i1 %.249.i, i64 %arg.middle.5.0, i64 0
  %.251.i = add i64 %.250.i, %.515.us
  br i1 %23, label %B62.epil.preheader.i, label %B62.lr.ph.new.i
B62.lr.ph.new.i:
  %24 = mul i64 %.251.i, %0
  %25 = getelementptr i8, ptr %arg.middle.4, i64 %24
  %scevgep14.i = getelementptr i8, ptr %25, i64 24
  br label %B62.i
B62.i:
  %total.2.0116.i = phi double [ 0.000000e+00, %B62.lr.ph.new.i ], [ %.280.3.i, %B62.i ]
  %.143112114.i = phi i64 [ 0, %B62.lr.ph.new.i ], [ %.150.3.i, %B62.i ]
  %26 = shl i64 %.143112114.i, 3
  %scevgep12.i = getelementptr i8, ptr %scevgep6.i, i64 %26
  %scevgep13.i = getelementptr i8, ptr %scevgep12.i, i64 -24
  %.225.i = load double, ptr %scevgep13.i, align 8, !noalias !0
  %scevgep20.i = getelementptr i8, ptr %scevgep14.i, i64 %26
  %scevgep21.i = getelementptr i8, ptr %scevgep20.i, i64 -24
  %.276.i = load double, ptr %scevgep21.i, align 8, !noalias !0
  %.277.i = fsub double %.225.i, %.276.i
  %.278.i = fmul double %.277.i, %.277.i
  %.280.i = fadd double %total.2.0116.i, %.278.i
  %27 = shl i64 %.143112114.i, 3
  %scevgep20 = getelementptr i8, ptr %scevgep6.i, i64 %27
  %scevgep21 = getelementptr i8, ptr %scevgep20, i64 -16
  %.225.1.i = load double, ptr %scevgep21, align 8, !noalias !0
  %28 = shl i64 %.143112114.i, 3
  %scevgep16 = getelementptr i8, ptr %scevgep14.i, i64 %28
  %scevgep17 = getelementptr i8, ptr %scevgep16, i64 -16
  %.276.1.i = load double, ptr %scevgep17, align 8, !noalias !0
  %.277.1.i = fsub double %.225.1.i, %.276.1.i
  %.278.1.i = fmul double %.277.1.i, %.277.1.i
  %.280.1.i = fadd double %.280.i, %.278.1.i
  %29 = shl i64 %.143112114.i, 3
  %scevgep18 = getelementptr i8, ptr %scevgep6.i, i64 %29
  %scevgep19 = getelementptr i8, ptr %scevgep18, i64 -8
  %.225.2.i = load double, ptr %scevgep19, align 8, !noalias !0
  %30 = shl i64 %.143112114.i, 3
  %scevgep14 = getelementptr i8, ptr %scevgep14.i, i64 %30
  %scevgep15 = getelementptr i8, ptr %scevgep14, i64 -8
  %.276.2.i = load double, ptr %scevgep15, align 8, !noalias !0
  %.277.2.i = fsub double %.225.2.i, %.276.2.i
  %.278.2.i = fmul double %.277.2.i, %.277.2.i
  %.280.2.i = fadd double %.280.1.i, %.278.2.i
  %.150.3.i = add nuw nsw i64 %.143112114.i, 4
  %.225.3.i = load double, ptr %scevgep12.i, align 8, !noalias !0
  %.276.3.i = load double, ptr %scevgep20.i, align 8, !noalias !0
  %.277.3.i = fsub double %.225.3.i, %.276.3.i
  %.278.3.i = fmul double %.277.3.i, %.277.3.i
  %.280.3.i = fadd double %.280.2.i, %.278.3.i
  %niter.ncmp.3.i = icmp eq i64 %unroll_iter.i, %.150.3.i
  br i1 %niter.ncmp.3.i, label %B124.loopexit.unr-lcssa.i, label %B62.i
B124.loopexit.unr-lcssa.i:
  %31 = icmp eq i64 %xtraiter.i, 0
  br i1 %31, label %B194.endif.us, label %B62.epil.preheader.i
B62.epil.preheader.i:
  %total.2.0116.epil.init.i = phi double [ 0.000000e+00, %B194.us ], [ %.280.3.i, %B124.loopexit.unr-lcssa.i ]
  %.143112114.epil.init.i = phi i64 [ 0, %B194.us ], [ %unroll_iter.i, %B124.loopexit.unr-lcssa.i ]
  %32 = mul i64 %.251.i, %arg.middle.5.1.fr
  %33 = add i64 %.143112114.epil.init.i, %32
  %34 = shl i64 %33, 3
  %scevgep.i = getelementptr i8, ptr %arg.middle.4, i64 %34
  %35 = add i64 %.143112114.epil.init.i, %20
  %36 = shl i64 %35, 3
  %scevgep4.i = getelementptr i8, ptr %arg.middle.4, i64 %36
  br label %B62.epil.i
B62.epil.i:
  %total.2.0116.epil.i = phi double [ %total.2.0116.epil.init.i, %B62.epil.preheader.i ], [ %.280.epil.i, %B62.epil.i ]
  %epil.iter.i = phi i64 [ 0, %B62.epil.preheader.i ], [ %epil.iter.next.i, %B62.epil.i ]
  %37 = shl i64 %epil.iter.i, 3
  %scevgep23 = getelementptr i8, ptr %scevgep4.i, i64 %37
  %.225.epil.i = load double, ptr %scevgep23, align 8, !noalias !0
  %38 = shl i64 %epil.iter.i, 3
  %scevgep22 = getelementptr i8, ptr %scevgep.i, i64 %38
  %.276.epil.i = load double, ptr %scevgep22, align 8, !noalias !0
  %.277.epil.i = fsub double %.225.epil.i, %.276.epil.i
  %.278.epil.i = fmul double %.277.epil.i, %.277.epil.i
  %.280.epil.i = fadd double %total.2.0116.epil.i, %.278.epil.i
  %epil.iter.next.i = add i64 %epil.iter.i, 1
  %epil.iter.cmp.not.i = icmp eq i64 %xtraiter.i, %epil.iter.next.i
  br i1 %epil.iter.cmp.not.i, label %B194.endif.us, label %B62.epil.i, !llvm.loop !3
B194.endif.us:
  %total.2.0.lcssa.i = phi double [ %.280.3.i, %B124.loopexit.unr-lcssa.i ], [ %.280.epil.i, %B62.epil.i ]
  %39 = icmp slt i64 %.515.us, 0
  %sunkaddr31 = mul i64 %.575.us, 8
  %sunkaddr32 = getelementptr inbounds i8, ptr %15, i64 %sunkaddr31
  %.590.us = load i64, ptr %sunkaddr32, align 8
  %.591.us = sitofp i64 %.590.us to double
  %.592.us = fmul double %total.2.0.lcssa.i, %.591.us
  %.608.us = select i1 %39, i64 %arg.sizes.5.0, i64 0
  %40 = getelementptr i64, ptr %arg.sizes.4, i64 %.515.us
  %.622.us = getelementptr i64, ptr %40, i64 %.608.us
  %.623.us = load i64, ptr %.622.us, align 8
  %.624.us = sitofp i64 %.623.us to double
  %.625.us = fmul double %.592.us, %.624.us
  %.688.us = add nsw i64 %.623.us, %.590.us
  %.689.us = sitofp i64 %.688.us to double
  %.693.us = fdiv double %.625.us, %.689.us
  %sunkaddr33 = mul i64 %.712.us, 8
  %sunkaddr34 = getelementptr inbounds i8, ptr %16, i64 %sunkaddr33
  %.727.us = load double, ptr %sunkaddr34, align 8
  %.729.us = fcmp olt double %.693.us, %.727.us
  br i1 %.729.us, label %B326.us, label %B348.us
B326.us:
  %sunkaddr35 = mul i64 %.712.us, 8
  %sunkaddr36 = getelementptr i8, ptr %16, i64 %sunkaddr35
  store double %.693.us, ptr %sunkaddr36, align 8
  %sunkaddr37 = mul i64 %.781.us, 8
  %sunkaddr38 = getelementptr inbounds i8, ptr %17, i64 %sunkaddr37
  store i64 %.515.us, ptr %sunkaddr38, align 8
  br label %B348.us
B348.us:
  %exitcond380.not = icmp eq i64 %arg.graph.5.1.fr, %.409.us
  br i1 %exitcond380.not, label %B353.us, label %B148.us
B353.us:
  %exitcond381.not = icmp eq i64 %.196.us, %arg.graph.5.0
  br i1 %exitcond381.not, label %common.ret, label %B58.us
common.ret:
  store ptr null, ptr %retptr, align 8
  ret i32 0
}
declare double @llvm.copysign.f64(double, double) #1
attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
!0 = !{!1}
!1 = distinct !{!1, !2, !"pramana.offers.0: %retptr"}
!2 = distinct !{!2, !"pramana.offers.0"}
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.unroll.disable"}
